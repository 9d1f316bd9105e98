import { resolve } from 'node:path';
import type { Running, Services } from '../daemon/types.js';
import { LccError } from '../lib/errors.js';
import { URLD_FIGURES } from '../spider/url-server/figures.js';
import { DEFAULT_PORT, startList } from '../spider/url-server/start.js';
import { endpointsOf, runAsDaemon } from './daemon.js';
import { CONFIG_OPTION, settingOption, textOf } from './options.js';
import type { CommandContext, CommandSpec } from './run.js';
import { startUrlManager } from './url-manager.js';

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
    {
      flags: '--qm <ENDPOINT>',
      help: 'the list is what this Queue Manager has to be fetched, as a Bot Manager with a store',
    },
    {
      flags: '--store <DIR>',
      help: 'folder of the lccstored that the spiders send their records to (with --qm)',
    },
    {
      flags: '--machineid <ID>',
      sets: 'bm.machine_id',
      help: 'name of this machine in the LCC (with --qm: bm.machine_id)',
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
    return runAsDaemon(context, {
      metrics: { listen: 'spider.urld_metrics_listen', figures: URLD_FIGURES },
      start: starterOf(context),
    });
  },
};

function starterOf(context: CommandContext): (services: Services) => Promise<Running> {
  const { options, operands } = context;
  const listens = endpointsOf(context, 'listen', DEFAULT_PORT);
  const [stored, machineId] = [textOf(options, 'store'), textOf(options, 'machineid')];
  if (options['qm'] === undefined) {
    if (stored !== undefined || machineId !== undefined)
      throw new LccError('usage', '--store and --machineid go with --qm');
    const file = fileOf(context);
    return services => startList(services, { listens, file, stdin: context.input, stdout: context.stdout });
  }
  if (options['file'] !== undefined || operands.length > 0)
    throw new LccError('usage', 'give one of --file=FILE, - and --qm=ENDPOINT');
  if (options['robots'] === true)
    throw new LccError('usage', '--robots: what a Queue Manager asks for, its owner has announced');
  if (stored === undefined)
    throw new LccError('usage', '--store=DIR is missing: the folder of the lccstored that the spiders have');
  const [qm] = endpointsOf(context, 'qm');
  if (qm === undefined) throw new LccError('usage', '--qm=ENDPOINT is missing');
  return services => startUrlManager(services, { listens, qm, stored: resolve(stored) });
}

/** @returns undefined for standard input */
function fileOf({ options: { file }, operands }: CommandContext): string | undefined {
  const [operand, more] = operands;
  const given = typeof file === 'string' ? file : operand;
  if (given === undefined || more !== undefined || (file !== undefined && operand !== undefined))
    throw new LccError('usage', 'give one of --file=FILE, - and --qm=ENDPOINT');
  if (operand !== undefined && operand !== '-')
    throw new LccError('usage', `${operand}: name a list with --file=FILE; - is standard input`);
  return given === '-' ? undefined : given;
}
