/** What the Queue Manager does from time to time: sees what lccpidb changed, forgets old tombstones. */
import type { Db } from '../db/open.js';
import type { QueueStore } from '../db/queue/store.js';
import type { Clock } from '../lib/clock.js';

export interface HousekeepingOptions {
  db: Db;
  store: QueueStore;
  clock: Clock;
  /** How long deletions are remembered. */
  tombstoneMs: number;
  /** Another process has changed the database. */
  changedOutside: () => void;
  failed: (error: unknown) => boolean;
}

const LOOK_MS = 500;
const PURGE_EVERY_MS = 60_000;
const PURGE_ROWS = 1000;

export class Housekeeping {
  readonly #options: HousekeepingOptions;
  readonly #version;
  #seenVersion: number | undefined;
  #purgeMs = 0;
  #cancel: (() => void) | undefined;

  constructor(options: HousekeepingOptions) {
    this.#options = options;
    this.#version = options.db.prepare<[], number>('PRAGMA data_version').pluck();
  }

  start(): void {
    this.#seenVersion = this.#version.get();
    this.#later();
  }

  stop(): void {
    this.#cancel?.();
  }

  #later(): void {
    this.#cancel = this.#options.clock.after(LOOK_MS, () => {
      try {
        this.#look();
      } catch (error) {
        if (!this.#options.failed(error)) return;
      }
      this.#later();
    });
  }

  #look(): void {
    const { clock, store, tombstoneMs, changedOutside } = this.#options;
    const version = this.#version.get();
    if (version !== this.#seenVersion) {
      this.#seenVersion = version;
      changedOutside();
    }
    if (clock.monotonicMs() < this.#purgeMs) return;
    const beforeS = Math.floor((clock.nowMs() - tombstoneMs) / 1000);
    const purged = store.freed.hasTombstones(beforeS)
      ? store.transaction(() => store.freed.purgeTombstones(beforeS, PURGE_ROWS))
      : 0;
    // A full page: there is more.
    this.#purgeMs = clock.monotonicMs() + (purged === PURGE_ROWS ? 0 : PURGE_EVERY_MS);
  }
}
