import { HARD_FIGURES } from '../clear/figures.js';
import { startHard } from '../clear/hard/start.js';
import { runAsDaemon } from './daemon.js';
import { CONFIG_OPTION, textOf } from './options.js';
import type { CommandSpec } from './run.js';

export const command: CommandSpec = {
  name: 'lccd-hard',
  summary: 'Clears pages on all rails of their targets, as requests in the queue say.',
  options: [
    { flags: '--poll <TIME>', help: 'how often the queue is looked at (clear.poll_ms)' },
    {
      flags: '--dedupe <HOW>',
      help: 'equal requests done together: watermark, those there before; paper, all (clear.dedupe)',
    },
    { flags: '--rebound <TIME>', help: 'send every clearing once more after this time (clear.rebound_ms)' },
    CONFIG_OPTION,
  ],
  example: 'lccd-hard --rebound=5s',
  run(context) {
    const { options } = context;
    return runAsDaemon(
      context,
      {
        name: 'lccd-hard',
        metrics: { listen: 'clear.hard_metrics_listen', figures: HARD_FIGURES },
        start: startHard,
      },
      {
        'clear.poll_ms': textOf(options, 'poll'),
        'clear.dedupe': textOf(options, 'dedupe'),
        'clear.rebound_ms': textOf(options, 'rebound'),
      },
    );
  },
};
