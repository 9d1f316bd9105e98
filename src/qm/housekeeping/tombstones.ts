import type { QueueStore } from '../../db/queue/store.js';
import type { Clock } from '../../lib/clock.js';
import type { Chore } from '../housekeeping.js';

const EVERY_MS = 60_000;
const PAUSE_MS = 500;
const PAGE_ROWS = 1000;
/** The wall clock must have gone back this far against the monotonic one for a check. */
const BACK_MS = 60_000;

/** Forgets deletions after `keepMs`. */
export function tombstones(store: QueueStore, clock: Clock, keepMs: number): Chore {
  const { deletions } = store;
  /** How far the wall clock was ahead of the monotonic one at the last look; undefined at the start. */
  let aheadMs: number | undefined;
  /** Times of tombstones below this number are yet to be looked at; undefined: of none. */
  let belowSeq: number | undefined;
  return {
    run() {
      const nowS = Math.floor(clock.nowMs() / 1000);
      // A clock that was ahead has been set right, maybe while nobody looked.
      const nowAheadMs = clock.nowMs() - clock.monotonicMs();
      if (aheadMs === undefined || nowAheadMs < aheadMs - BACK_MS) belowSeq = Number.MAX_SAFE_INTEGER;
      aheadMs = nowAheadMs;
      const below = belowSeq;
      if (below !== undefined) {
        belowSeq = store.transaction(() => deletions.correctTimes(below, PAGE_ROWS, nowS));
        return PAUSE_MS;
      }
      const beforeS = Math.floor((clock.nowMs() - keepMs) / 1000);
      if (!deletions.hasOld(beforeS)) return EVERY_MS;
      const purged = store.transaction(() => deletions.forget(beforeS, PAGE_ROWS));
      // A full page: there is more.
      return purged === PAGE_ROWS ? PAUSE_MS : EVERY_MS;
    },
  };
}
