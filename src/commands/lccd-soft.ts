import { SOFT_FIGURES } from '../clear/figures.js';
import { startSoft } from '../clear/soft/start.js';
import { runAsDaemon } from './daemon.js';
import { CONFIG_OPTION } from './options.js';
import type { CommandSpec } from './run.js';

export const command: CommandSpec = {
  name: 'lccd-soft',
  summary: 'Replaces pages on all rails of their targets by new ones that it has generated.',
  options: [CONFIG_OPTION],
  example: 'lccd-soft',
  run: context =>
    runAsDaemon(context, {
      metrics: { listen: 'clear.soft_metrics_listen', figures: SOFT_FIGURES },
      start: startSoft,
    }),
};
