import type { QueueStore } from '../../db/queue/store.js';
import type { Clock } from '../../lib/clock.js';
import type { Chore } from '../housekeeping.js';

const EVERY_MS = 60_000;
const PAUSE_MS = 500;
const PAGE_ROWS = 1000;
/** The wall clock must have gone back this far against the monotonic one for a check. */
const BACK_MS = 60_000;

/** Forgets deletions after `keepMs`. */
export class Tombstones implements Chore {
  readonly #store: QueueStore;
  readonly #clock: Clock;
  readonly #keepMs: number;
  /** How far the wall clock was ahead of the monotonic one at the last look; undefined at the start. */
  #aheadMs: number | undefined;
  /** Times of tombstones below this number are yet to be looked at; undefined: of none. */
  #belowSeq: number | undefined;

  constructor(store: QueueStore, clock: Clock, keepMs: number) {
    this.#store = store;
    this.#clock = clock;
    this.#keepMs = keepMs;
  }

  run(): number {
    this.#watchClock();
    if (this.#belowSeq !== undefined) {
      this.#correct(this.#belowSeq);
      return PAUSE_MS;
    }
    const { deletions } = this.#store;
    const beforeS = Math.floor((this.#clock.nowMs() - this.#keepMs) / 1000);
    if (!deletions.hasOld(beforeS)) return EVERY_MS;
    const purged = this.#store.transaction(() => deletions.forget(beforeS, PAGE_ROWS));
    // A full page: there is more.
    return purged === PAGE_ROWS ? PAUSE_MS : EVERY_MS;
  }

  /** A clock that was ahead has been set right, maybe while nobody looked. */
  #watchClock(): void {
    const aheadMs = this.#clock.nowMs() - this.#clock.monotonicMs();
    if (this.#aheadMs === undefined || aheadMs < this.#aheadMs - BACK_MS)
      this.#belowSeq = Number.MAX_SAFE_INTEGER;
    this.#aheadMs = aheadMs;
  }

  #correct(belowSeq: number): void {
    const nowS = Math.floor(this.#clock.nowMs() / 1000);
    this.#belowSeq = this.#store.transaction(() =>
      this.#store.deletions.correctTimes(belowSeq, PAGE_ROWS, nowS),
    );
  }
}
