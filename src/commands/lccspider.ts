import { setFlagsFromString } from 'node:v8';
import { LccError } from '../lib/errors.js';
import { parseEndpoint, type Endpoint } from '../lib/endpoint.js';
import { DEFAULT_STORE_PORT } from '../spider/store-server/start.js';
import { SPIDER_FIGURES } from '../spider/transaction/figures.js';
import { startSpider } from '../spider/transaction/start.js';
import { DEFAULT_PORT } from '../spider/url-server/start.js';
import { runAsDaemon } from './daemon.js';
import { ALLOW_ADDRESS_OPTION, allowedOf, CONFIG_OPTION, settingOption, textOf, textsOf } from './options.js';
import type { CommandContext, CommandSpec } from './run.js';

export const command: CommandSpec = {
  name: 'lccspider',
  summary: 'Spider: fetches what a URL server sends, and brings every result to a store server.',
  options: [
    { flags: '--urlserver <ENDPOINT>', help: `where urls come from (port ${DEFAULT_PORT})` },
    {
      flags: '--store <ENDPOINT,...>',
      help: `where records go (port ${DEFAULT_STORE_PORT}): document D to number D mod N of N`,
      repeat: true,
    },
    settingOption('-c, --slots <N>', 'spider.slots', 'urls under way at a time'),
    settingOption('--timeout-update <TIME>', 'spider.timeout_update_ms', 'Timeout_Update of the URL server'),
    settingOption('--timeout-req <TIME>', 'spider.timeout_req_ms', 'Timeout_Req: time for one url'),
    settingOption('--max-doc-size <BYTES>', 'spider.max_doc_bytes', 'Max_Doc_Size: longer documents are cut'),
    settingOption('--max-redirects <N>', 'spider.max_redirects', 'redirects followed'),
    settingOption('--no-downgrade', 'spider.downgrade', 'redirects from https to http are failures'),
    settingOption(
      '--allow-private',
      'spider.allow_private',
      'fetch from private and loopback addresses, too',
    ),
    ALLOW_ADDRESS_OPTION,
    settingOption('--insecure', 'spider.insecure', 'do not look at the certificates of https sites'),
    settingOption('--grace <TIME>', 'spider.grace_ms', 'time for what is under way when told to stop'),
    { flags: '--name <NAME>', help: 'name in the log and of the control socket', default: 'lccspider' },
    CONFIG_OPTION,
  ],
  example: 'lccspider --urlserver=127.0.0.1:9020 --store=127.0.0.1:9022 -c 100',
  run(context) {
    const { options } = context;
    const name = textOf(options, 'name');
    const allowed = allowedOf(options);
    const edge = { urlServer: urlServerOf(context), stores: storesOf(context) };
    if (name === undefined || !/^[\w.-]{1,64}$/.test(name))
      throw new LccError('usage', `--name=${String(name)}: use letters, digits, dots, dashes; at most 64`);
    // Names are looked up in libuv's pool; its four threads would let a few dead name servers hold up
    // everything. Must be set before the pool is first used.
    process.env['UV_THREADPOOL_SIZE'] ??= '32';
    // As in lccbot: V8 would optimise undici's parser for 0.15 s and 40 MB.
    for (const flag of ['--no-wasm-tier-up', '--no-wasm-dynamic-tiering']) setFlagsFromString(flag);
    return runAsDaemon(context, {
      name,
      metrics: { listen: 'spider.spider_metrics_listen', figures: SPIDER_FIGURES },
      start: services => startSpider(services, { ...edge, allowed }),
    });
  },
};

function urlServerOf({ options }: CommandContext): Endpoint {
  const urlserver = textOf(options, 'urlserver');
  if (urlserver === undefined)
    throw new LccError('usage', '--urlserver=ENDPOINT is missing; write host:port or unix:/path');
  return parseEndpoint(urlserver, DEFAULT_PORT);
}

function storesOf({ options }: CommandContext): Endpoint[] {
  const texts = textsOf(options, 'store')?.flatMap(each => each.split(',')) ?? [];
  if (texts.length === 0)
    throw new LccError('usage', '--store=ENDPOINT is missing; write host:port, several with commas between');
  return texts.map(text => parseEndpoint(text, DEFAULT_STORE_PORT));
}
