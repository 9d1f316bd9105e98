import { HARD_FIGURES } from '../clear/figures.js';
import { startHard } from '../clear/hard/start.js';
import { CONFIG_OPTION, runAsDaemon } from './daemon.js';
import type { CommandSpec } from './run.js';

export const command: CommandSpec = {
  name: 'lccd-hard',
  summary: 'Clears pages on all rails of their targets, as requests in the queue say.',
  options: [CONFIG_OPTION],
  example: 'lccd-hard',
  run: context =>
    runAsDaemon(context, {
      name: 'lccd-hard',
      metrics: { listen: 'clear.hard_metrics_listen', figures: HARD_FIGURES },
      start: startHard,
    }),
};
