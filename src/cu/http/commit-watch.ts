/** Commits of the LCC, told to all readers that wait: one watch of the database for them together. */
import type { CacheReader } from '../../db/cache/read.js';
import { DatabaseWatch } from '../../db/sqlite/watch.js';
import { pause, type Clock } from '../../lib/clock.js';
import type { SharedCache } from '../server/cache.js';

/** Between two looks of all that wait: where commits are dense, they are told together. */
const GATHER_MS = 200;

/** A state of the database. */
interface Mark {
  reader: CacheReader;
  version: number;
}

interface Waiter {
  mark: Mark;
  wake: () => void;
}

export class CommitWatch {
  readonly #cache: SharedCache;
  readonly #dbPath: string;
  readonly #clock: Clock;
  readonly #waiting = new Set<Waiter>();
  /** Ends the watch; undefined: nobody waits. */
  #watching: AbortController | undefined;

  constructor(cache: SharedCache, dbPath: string, clock: Clock) {
    this.#cache = cache;
    this.#dbPath = dbPath;
    this.#clock = clock;
  }

  /** The state now: to be noted before the database is read. @throws LccError as SharedCache.reader */
  mark(): Mark {
    const reader = this.#cache.reader();
    return { reader, version: reader.dataVersion() };
  }

  /** Resolves after a commit since the mark, after `delayMs`, or when it is aborted. */
  after(mark: Mark, delayMs: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise(resolve => {
      const wake = () => {
        cancel();
        signal.removeEventListener('abort', wake);
        this.#waiting.delete(waiter);
        if (this.#waiting.size === 0) this.#watching?.abort();
        resolve();
      };
      const waiter = { mark, wake };
      const cancel = this.#clock.after(delayMs, wake);
      signal.addEventListener('abort', wake);
      this.#waiting.add(waiter);
      if (this.#watching === undefined) void this.#watch();
      else this.#tell();
    });
  }

  async #watch(): Promise<void> {
    const watching = (this.#watching = new AbortController());
    let watch: DatabaseWatch | undefined;
    try {
      const { reader } = this.mark();
      watch = new DatabaseWatch(this.#dbPath, () => reader.dataVersion(), this.#clock);
      for (;;) {
        const seen = this.#tell();
        if (watching.signal.aborted || seen.reader !== reader) break;
        await watch.changedSince(seen.version, watching.signal);
        this.#tell();
        await pause(this.#clock, GATHER_MS, watching.signal);
      }
    } catch {
      // The database cannot be read, or is another: each that waits finds out what that means to it.
      for (const { wake } of this.#waiting) wake();
    } finally {
      watch?.close();
      this.#watching = undefined;
    }
    if (this.#waiting.size > 0) void this.#watch();
  }

  /** Wakes those whose mark is not the state any more. @returns that */
  #tell(): Mark {
    const now = this.mark();
    for (const { mark, wake } of this.#waiting)
      if (mark.reader !== now.reader || mark.version !== now.version) wake();
    return now;
  }
}
