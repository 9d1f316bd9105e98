import { resolve } from 'node:path';
import type { Running, Services } from '../daemon/types.js';
import { LccError } from '../lib/errors.js';
import { URLD_FIGURES } from '../spider/url-server/figures.js';
import { DEFAULT_PORT, startList } from '../spider/url-server/start.js';
import { endpointsOf, runAsDaemon } from './daemon.js';
import { CONFIG_OPTION, textOf } from './options.js';
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
    { flags: '--machineid <ID>', help: 'name of this machine in the LCC (with --qm: bm.machine_id)' },
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
    const { options } = context;
    const start = starterOf(context);
    return runAsDaemon(
      context,
      {
        name: 'lccurld',
        metrics: { listen: 'spider.urld_metrics_listen', figures: URLD_FIGURES },
        start,
      },
      {
        'bm.machine_id': textOf(options, 'machineid'),
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

function starterOf(context: CommandContext): (services: Services) => Promise<Running> {
  const { options, operands } = context;
  const listens = endpointsOf(context, 'listen', DEFAULT_PORT);
  const [stored, machineId] = [textOf(options, 'store'), textOf(options, 'machineid')];
  if (options['qm'] === undefined) {
    if (stored !== undefined || machineId !== undefined)
      throw new LccError('usage', '--store and --machineid go with --qm');
    const file = fileOf(context);
    return services => startList(services, { listens, file });
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
