import type { QueueStore } from '../../db/queue/store.js';
import type { Clock } from '../../lib/clock.js';
import type { Chore } from './chore.js';

const EVERY_MS = 60_000;
const PAUSE_MS = 500;
const PAGE_ROWS = 1000;

/** Forgets deletions after `keepMs`. */
export class Tombstones implements Chore {
  readonly #store: QueueStore;
  readonly #clock: Clock;
  readonly #keepMs: number;

  constructor(store: QueueStore, clock: Clock, keepMs: number) {
    this.#store = store;
    this.#clock = clock;
    this.#keepMs = keepMs;
  }

  run(): number {
    const { freed } = this.#store;
    const beforeS = Math.floor((this.#clock.nowMs() - this.#keepMs) / 1000);
    if (!freed.hasTombstones(beforeS)) return EVERY_MS;
    const purged = this.#store.transaction(() => freed.purgeTombstones(beforeS, PAGE_ROWS));
    // A full page: there is more.
    return purged === PAGE_ROWS ? PAUSE_MS : EVERY_MS;
  }
}
