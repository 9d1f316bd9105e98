import { LccError } from '../lib/errors.js';
import { URLD_FIGURES } from '../spider/url-server/figures.js';
import { DEFAULT_PORT, startList } from '../spider/url-server/start.js';
import { endpointsOf, runAsDaemon } from './daemon.js';
import { CONFIG_OPTION, settingOption } from './options.js';
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
    settingOption('--timeout-update <TIME>', 'spider.timeout_update_ms', 'Timeout_Update of the spiders'),
    settingOption('--max-tries <N>', 'spider.max_tries', 'silent spiders before a url has failed'),
    settingOption('--per-host <N>', 'spider.per_host', 'urls of a host under way at a time'),
    settingOption('--host-delay-ms <TIME>', 'spider.host_delay_ms', 'pause between fetches from a host'),
    settingOption('--shuffle', 'spider.shuffle', 'take urls in any order'),
    settingOption('--robots', 'spider.robots', 'have robots.txt obeyed'),
    settingOption(
      '--allow-private',
      'spider.allow_private',
      'ask private and loopback addresses for robots.txt, too',
    ),
    CONFIG_OPTION,
  ],
  example: 'lccurld --listen=127.0.0.1:9020 --file=urls.txt >failed.tsv',
  run(context) {
    const listens = endpointsOf(context, 'listen', DEFAULT_PORT);
    const file = fileOf(context);
    return runAsDaemon(context, {
      metrics: { listen: 'spider.urld_metrics_listen', figures: URLD_FIGURES },
      start: services => startList(services, { listens, file, stdin: context.input, stdout: context.stdout }),
    });
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
