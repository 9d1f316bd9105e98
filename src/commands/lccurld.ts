import { LccError } from '../lib/errors.js';
import { URLD_FIGURES } from '../spider/url-server/figures.js';
import { DEFAULT_PORT, startList } from '../spider/url-server/start.js';
import { endpointsOf, runAsDaemon } from './daemon.js';
import { CONFIG_OPTION, textOf } from './options.js';
import type { CommandContext, CommandSpec } from './run.js';

export const command: CommandSpec = {
  name: 'lccurld',
  summary: 'URL server: has the urls of a list fetched by spiders, politely, each to its end.',
  operands: '[-]',
  options: [
    {
      flags: '--listen <ENDPOINT>',
      help: `where spiders connect; may be repeated (port ${DEFAULT_PORT})`,
      repeat: true,
    },
    {
      flags: '--file <FILE>',
      help: 'the list: a url, or a number, a tab and a url, a line; -: standard input',
    },
    { flags: '--timeout-update <TIME>', help: 'Timeout_Update of the spiders (spider.timeout_update_ms)' },
    { flags: '--max-tries <N>', help: 'silent spiders before a url has failed (spider.max_tries)' },
    { flags: '--per-host <N>', help: 'urls of a host under way at a time (spider.per_host)' },
    { flags: '--host-delay-ms <TIME>', help: 'pause between fetches from a host (spider.host_delay_ms)' },
    { flags: '--shuffle', help: 'take urls in any order (spider.shuffle)' },
    { flags: '--robots', help: 'have robots.txt obeyed (spider.robots)' },
    {
      flags: '--allow-private',
      help: 'ask private and loopback addresses for robots.txt, too (spider.allow_private)',
    },
    CONFIG_OPTION,
  ],
  example: 'lccurld --listen=127.0.0.1:9020 --file=urls.txt >failed.tsv',
  run(context) {
    const edge = { listens: endpointsOf(context, 'listen', DEFAULT_PORT), file: fileOf(context) };
    const { options } = context;
    return runAsDaemon(
      context,
      {
        name: 'lccurld',
        metrics: { listen: 'spider.urld_metrics_listen', figures: URLD_FIGURES },
        start: services => startList(services, edge),
      },
      {
        'spider.timeout_update_ms': textOf(options, 'timeoutUpdate'),
        'spider.max_tries': textOf(options, 'maxTries'),
        'spider.per_host': textOf(options, 'perHost'),
        'spider.host_delay_ms': textOf(options, 'hostDelayMs'),
        'spider.robots': options['robots'] === true ? 'true' : undefined,
        'spider.allow_private': options['allowPrivate'] === true ? 'true' : undefined,
        'spider.shuffle': options['shuffle'] === true ? 'true' : undefined,
      },
    );
  },
};

/** @returns undefined for standard input */
function fileOf({ options: { file }, operands }: CommandContext): string | undefined {
  const [operand, more] = operands;
  const given = typeof file === 'string' ? file : operand;
  if (given === undefined || more !== undefined || (file !== undefined && operand !== undefined))
    throw new LccError('usage', 'give one of --file=FILE and -');
  if (operand !== undefined && operand !== '-')
    throw new LccError('usage', `${operand}: name a list with --file=FILE; - is standard input`);
  return given === '-' ? undefined : given;
}
