import { storageError } from '../db/sqlite/open.js';
import { noteFailure } from '../db/sqlite/suspicion.js';
import { startQueueManager } from '../qm/start.js';
import { QM_FIGURES } from '../qm/figures.js';
import { LOOK_WORDS } from './look-words.js';
import { endpointsIn, endpointsOf, runAsDaemon } from './daemon.js';
import { movesOf } from './qm-moves.js';
import { CONFIG_OPTION } from './options.js';
import type { CommandSpec } from './run.js';

export const command: CommandSpec = {
  name: 'lccd-qm',
  summary: 'Queue Manager: absorbs sets, schedules fetches, keeps the LCC DB.',
  options: [
    { flags: '--listen-uns <ENDPOINT>', help: 'where UNSes connect; may be repeated', repeat: true },
    { flags: '--listen-bm <ENDPOINT>', help: 'where Bot Managers connect; may be repeated', repeat: true },
    {
      flags: '--listen-rs <ENDPOINT>',
      help: 'where the Registration Server connects; may be repeated',
      repeat: true,
    },
    CONFIG_OPTION,
  ],
  example: 'lccd-qm --listen-uns=unix:$LCC_HOME/run/qm-uns.sock --listen-bm=unix:$LCC_HOME/run/qm-bm.sock',
  run(context) {
    const uns = endpointsOf(context, 'listenUns');
    const bm = endpointsOf(context, 'listenBm');
    const rs = endpointsIn(context, 'listenRs');
    return runAsDaemon(context, {
      metrics: { listen: 'qm.metrics_listen', figures: QM_FIGURES },
      failed(error, config) {
        noteFailure(config.home.db, error);
        return storageError(config.home.db, error);
      },
      start: services => startQueueManager(services, { uns, bm, rs }, LOOK_WORDS, movesOf(services)),
    });
  },
};
