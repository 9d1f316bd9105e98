/**
 * Commits that find no room are tried again every second by their callers. The log says so when that begins,
 * now and then while it lasts, and when it is over: when for a while no commit has failed and the disk has a
 * little room.
 */
import type { Clock } from '../lib/clock.js';
import type { Log } from '../lib/log.js';

/** Longer than any caller waits before it tries again. */
const QUIET_MS = 5000;
const REMIND_MS = 10 * 60_000;

export class FullDisk {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #hasRoom: () => boolean;
  #reason: string | undefined;
  #failures = 0;
  #sinceMs = 0;
  #lastMs = 0;
  #saidMs = 0;
  #cancel: (() => void) | undefined;

  /** @param hasRoom asks the disk */
  constructor(clock: Clock, log: Log, hasRoom: () => boolean) {
    this.#clock = clock;
    this.#log = log;
    this.#hasRoom = hasRoom;
  }

  /** The last report of SQLite, while it lasts. */
  get reason(): string | undefined {
    return this.#reason;
  }

  /** A commit found no room. */
  failed(error: string): void {
    const nowMs = this.#clock.monotonicMs();
    this.#lastMs = nowMs;
    this.#failures++;
    if (this.#reason === undefined) {
      this.#failures = 1;
      this.#sinceMs = nowMs;
      this.#look();
    }
    if (this.#reason === undefined || nowMs - this.#saidMs >= REMIND_MS) {
      this.#log.error('disk full; free space on it', { error, failures: this.#failures });
      this.#saidMs = nowMs;
    }
    this.#reason = error;
  }

  stop(): void {
    this.#cancel?.();
  }

  #look(): void {
    this.#cancel = this.#clock.after(QUIET_MS, () => {
      const nowMs = this.#clock.monotonicMs();
      if (nowMs - this.#lastMs < QUIET_MS || !this.#hasRoom()) return this.#look();
      this.#reason = undefined;
      this.#log.info('disk has room again', {
        after_s: Math.round((this.#lastMs - this.#sinceMs) / 1000),
        failures: this.#failures,
      });
    });
  }
}
