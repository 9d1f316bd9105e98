import type { HeldSet, LeftOver } from '../../db/queue/held-removals.js';
import type { QueueStore } from '../../db/queue/store.js';
import type { Clock } from '../../lib/clock.js';
import type { Log } from '../../lib/log.js';
import type { Chore } from '../housekeeping.js';

/** Pause between two rounds: at least this, and `REST` times the work of the round. */
const ROUND_PAUSE_MS = 5000;
const REST = 100;
/** Between two steps, for everything else. */
const PAUSE_MS = 20;
/** Noted deletes looked at in one step. */
const PAGE_ROWS = 500;

/** Counts again what held sets would remove: what was announced again meanwhile would stay. A set of which
 * nothing is left is given up, so that nobody is asked for a decision that decides nothing. */
export function heldRecount({ store, clock, log }: { store: QueueStore; clock: Clock; log: Log }): Chore {
  let work: { set: HeldSet; steps: Generator<LeftOver, void>; left: LeftOver } | undefined;
  let after = 0;
  let workedMs = 0;
  const next = () => {
    const { held, reconciler } = store;
    const set = held.next(after);
    if (set === undefined) return undefined;
    const steps = set.isfull === 1 ? reconciler.left(set.pid, set.psetid) : held.left(set, PAGE_ROWS);
    return { set, steps, left: { content: 0, waits: false } };
  };
  const counted = ({ pid, psetid, urls }: HeldSet, left: LeftOver): void => {
    if (left.content === urls && urls > 0) return;
    if (!store.transaction(() => store.held.recount(psetid, left))) return;
    log.info('held removals dropped: nothing left to remove', { pid, psetid });
  };
  return {
    run() {
      const startedMs = clock.monotonicMs();
      const now = work ?? next();
      // After a failure the count starts again.
      work = undefined;
      if (now === undefined) {
        const pauseMs = Math.max(ROUND_PAUSE_MS, REST * workedMs);
        after = 0;
        workedMs = 0;
        return pauseMs;
      }
      const { done, value } = now.steps.next();
      if (done === true) {
        counted(now.set, now.left);
        after = now.set.psetid;
      } else {
        now.left.content += value.content;
        now.left.waits ||= value.waits;
        work = now;
      }
      workedMs += clock.monotonicMs() - startedMs;
      return PAUSE_MS;
    },
  };
}
