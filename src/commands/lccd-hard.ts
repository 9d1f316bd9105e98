import { HARD_FIGURES } from '../clear/figures.js';
import { startHard } from '../clear/hard/start.js';
import { runAsDaemon } from './daemon.js';
import { CONFIG_OPTION, settingOption } from './options.js';
import type { CommandSpec } from './run.js';

export const command: CommandSpec = {
  name: 'lccd-hard',
  summary: 'Clears pages on all rails of their targets, as requests in the queue say.',
  options: [
    settingOption('--poll <TIME>', 'clear.poll_ms', 'how often the queue is looked at'),
    settingOption(
      '--dedupe <HOW>',
      'clear.dedupe',
      'equal requests done together: watermark, those there before; paper, all',
    ),
    settingOption('--rebound <TIME>', 'clear.rebound_ms', 'send every clearing once more after this time'),
    CONFIG_OPTION,
  ],
  example: 'lccd-hard --rebound=5s',
  run: context =>
    runAsDaemon(context, {
      metrics: { listen: 'clear.hard_metrics_listen', figures: HARD_FIGURES },
      start: startHard,
    }),
};
