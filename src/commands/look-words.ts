/** How the Queue Manager tells operators what lccstat tells: in the same words. */
import type { LookWords } from '../qm/rs-looks.js';
import { describeProvider, formatSummary } from '../run/look/queue.js';
import { reasonsOf } from '../run/look/reasons.js';
import { describeStatus } from '../run/look/table.js';
import { FIGURES } from './figures.js';

export const LOOK_WORDS: LookWords = {
  reasons: (looks, queue, nowMs) => reasonsOf(looks, queue, nowMs, FIGURES),
  summary: (queue, nowMs) => formatSummary(queue, nowMs),
  daemon: (status, away) => describeStatus(status, FIGURES, away),
  provider: describeProvider,
};
