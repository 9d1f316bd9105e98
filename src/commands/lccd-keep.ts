import { keeperLock } from '../daemon/keeper-link.js';
import { startLocked } from '../daemon/locked.js';
import { startKeeper } from '../keep/start.js';
import { runAsDaemon } from './daemon.js';
import { CONFIG_OPTION } from './options.js';
import type { CommandSpec } from './run.js';

export const command: CommandSpec = {
  name: 'lccd-keep',
  summary: 'Keep the databases of this LCC in an engine, or copy them from there to take over.',
  options: [CONFIG_OPTION],
  example: 'lccd-keep --config=/etc/lcc/lcc.toml',
  run: context =>
    runAsDaemon(context, {
      start: services =>
        startLocked(keeperLock(services.home.run), services.log, () => startKeeper(services)),
    }),
};
