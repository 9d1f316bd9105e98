/** Chores of the Queue Manager: each when it is due, one after the other. */
import type { Clock } from '../lib/clock.js';

/** Something done from time to time, a bounded piece at a time. */
export interface Chore {
  /** Does the next piece, some milliseconds of work at most. @returns milliseconds until the next one */
  run(): number;
}

/** After a failure that may pass. */
const RETRY_MS = 1000;
/** Where nothing may be committed. */
const HELD_MS = 100;

/**
 * @param failed a chore failed; true: try again later
 * @param mayRun whether anything may be committed
 */
export function housekeeping(
  clock: Clock,
  chores: readonly Chore[],
  failed: (error: unknown) => boolean,
  mayRun = () => true,
): { start(): void; stop(): void } {
  const due = new Map(chores.map(chore => [chore, 0]));
  let cancel: (() => void) | undefined;
  const later = (): void => {
    const dueMs = Math.min(...due.values());
    cancel = clock.after(Math.max(0, dueMs - clock.monotonicMs()), () => {
      if (runDue()) later();
    });
  };
  /** @returns false after a failure that will not pass */
  const runDue = (): boolean => {
    const nowMs = clock.monotonicMs();
    for (const [chore, dueMs] of due) {
      if (dueMs > nowMs) continue;
      if (!mayRun()) {
        due.set(chore, nowMs + HELD_MS);
        continue;
      }
      try {
        due.set(chore, nowMs + chore.run());
      } catch (error) {
        if (!failed(error)) return false;
        due.set(chore, nowMs + RETRY_MS);
      }
    }
    return true;
  };
  return { start: later, stop: () => cancel?.() };
}
