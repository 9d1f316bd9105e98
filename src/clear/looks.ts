/** When a daemon of cache clearing looks again: in a rhythm, and after whatever others commit. */
import { DatabaseWatch } from '../db/sqlite/watch.js';
import { LccError } from '../lib/errors.js';
import type { ClearParts } from './daemon.js';

/** Tasks that a daemon repeats until its end. */
export class Looks {
  readonly #parts: ClearParts;
  readonly #ending = new AbortController();

  constructor(parts: ClearParts) {
    this.#parts = parts;
  }

  get isOver(): boolean {
    return this.#ending.signal.aborted;
  }

  /** Does something again and again. */
  every(delayMs: number, action: () => void): void {
    const { services, fail } = this.#parts;
    services.clock.after(delayMs, () => {
      if (this.isOver) return;
      try {
        action();
      } catch (error) {
        // Others write for long: the next time will do.
        if (!(error instanceof LccError) || error.code !== 'try.later') fail(error);
      }
      this.every(delayMs, action);
    });
  }

  /** Calls `wake` at once, and soon after whatever others commit. */
  watch(daemon: string, wake: () => void): void {
    void this.#watch(daemon, wake).catch(this.#parts.fail);
  }

  end(): void {
    this.#ending.abort();
  }

  async #watch(daemon: string, wake: () => void): Promise<void> {
    const { db, services, committed } = this.#parts;
    const watcher = new DatabaseWatch(
      db.path,
      () => db.version(),
      services.clock,
      () => `start ${daemon} again`,
    );
    try {
      while (!this.isOver) {
        const seen = db.version();
        committed();
        wake();
        await watcher.changedSince(seen, this.#ending.signal);
      }
    } finally {
      watcher.close();
    }
  }
}
