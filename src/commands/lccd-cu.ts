/** lccd-cu(8): answers the queries of content users over sockets, and keeps the list of who may ask. */
import { CU_FIGURES } from '../cu/server/figures.js';
import { readersOf } from '../cu/server/options.js';
import { DEFAULT_HTTP_PORT, startCu } from '../cu/server/start.js';
import { EXIT, LccError } from '../lib/errors.js';
import { CU_PORT } from '../wire/cu.js';
import { endpointsIn, runAsDaemon } from './daemon.js';
import { CONFIG_OPTION, configOf, settingOption } from './options.js';
import type { CommandContext, CommandSpec } from './run.js';

export const command: CommandSpec = {
  name: 'lccd-cu',
  summary: 'Content User server: answers queries for what the LCC holds and what changed.',
  options: [
    settingOption('--listen <ENDPOINT>', 'cu.listen', 'where content users connect', `; port ${CU_PORT}`),
    settingOption(
      '--http-listen <ENDPOINT>',
      'cu.http_listen',
      'where GET /changes is answered',
      `; port ${DEFAULT_HTTP_PORT}`,
    ),
    {
      flags: '--listen-machines <ENDPOINT>',
      help: 'where other machines of the LCC ask, known by their certificates; may be repeated',
      repeat: true,
    },
    CONFIG_OPTION,
    {
      flags: '--add-reader <NAME>',
      help: 'let NAME read; prints its new password, once, and ends',
      once: true,
    },
    { flags: '--remove-reader <NAME>', help: 'let NAME read no more, and end', once: true },
    { flags: '--list-readers', help: 'print who may read, and end' },
  ],
  example: 'lccd-cu --listen=unix:/run/lcc/cu.sock --listen=tls:0.0.0.0:9010',
  run,
};

function run(context: CommandContext): Promise<number> | number {
  const {
    listen,
    httpListen,
    listenMachines,
    addReader: added,
    removeReader: removed,
    listReaders: list,
  } = context.options;
  const asked = [added, removed, list].filter(value => value !== undefined);
  if (asked.length > 0) {
    if (asked.length > 1 || (listen ?? httpListen ?? listenMachines) !== undefined)
      throw new LccError(
        'usage',
        'give one of --add-reader, --remove-reader, --list-readers and nothing else',
      );
    return administer(context, { added, removed });
  }
  return runAsDaemon(context, {
    metrics: { listen: 'cu.metrics_listen', figures: CU_FIGURES },
    start: services => startCu(services, endpointsIn(context, 'listenMachines', CU_PORT)),
  });
}

function administer(
  context: CommandContext,
  { added, removed }: { added: unknown; removed: unknown },
): number {
  const { home, settings } = configOf(context);
  const readers = readersOf(home, settings.cu);
  if (typeof added === 'string') context.print(`${readers.add(added)}\n`);
  else if (typeof removed === 'string') readers.remove(removed);
  else for (const name of readers.names()) context.print(`${name}\n`);
  return EXIT.ok;
}
