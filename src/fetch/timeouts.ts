/**
 * How long each phase of a fetch may last (`bot.connect_timeout_ms` and the like), and the fetch as a whole.
 */
import { fail, type FetchFailure } from './failure.js';
import type { FetchLimits } from './job.js';

export type Phase = 'place' | 'connect' | 'headers' | 'body' | 'drain' | 'decode' | 'save' | 'over';

/**
 * @param waitedMs since the phase began, or the last byte of the body came
 * @param isLate the whole fetch has had its time
 * @returns what the fetch fails with, `drained` when it need not read the rest of its answer, or undefined:
 * it may go on
 */
export function timedOut(
  phase: Phase,
  waitedMs: number,
  isLate: boolean,
  limits: FetchLimits,
): FetchFailure | 'drained' | undefined {
  switch (phase) {
    case 'place':
      return isLate ? fail('total-timeout', 'waiting for others at its host') : undefined;
    case 'connect':
      return isLate || waitedMs >= limits.connectTimeoutMs
        ? fail('connect-timeout', 'connecting')
        : undefined;
    case 'headers':
      if (isLate) return fail('total-timeout', 'waiting for the answer');
      return waitedMs >= limits.headersTimeoutMs
        ? fail('headers-timeout', 'waiting for the answer')
        : undefined;
    case 'body':
      if (isLate) return fail('total-timeout', 'receiving the content');
      return waitedMs >= limits.idleTimeoutMs ? fail('idle-timeout', 'receiving the content') : undefined;
    case 'drain':
      return isLate || waitedMs >= limits.drainTimeoutMs ? 'drained' : undefined;
    case 'decode':
      return isLate ? fail('total-timeout', 'decoding the content') : undefined;
    case 'save':
    case 'over':
      return undefined;
  }
}
