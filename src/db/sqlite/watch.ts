/**
 * Waiting for commits of other processes without asking all the time. A commit is written to the write-ahead
 * log, which the kernel tells (inotify); it can be read a moment later, when it has been synced and SQLite
 * has moved its mark, of which nobody is told. So a look follows at once, and some more at growing distances.
 * Where the kernel does not tell (network file systems, no watches left) it is asked regularly.
 */
import { statSync, watch, type FSWatcher } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Clock } from '../../lib/clock.js';
import { LccError } from '../../lib/errors.js';

/**
 * Looks after the log was written to; what takes longer to be synced is seen by the look that comes anyway.
 */
const LOOKS_MS = [0, 2, 10, 40, 150, 400];
/** Looks in between, where the kernel reports writes, and where it does not. */
const TOLD_MS = 2000;
const UNTOLD_MS = 500;

export class DatabaseWatch {
  readonly #path: string;
  readonly #version: () => number;
  readonly #clock: Clock;
  readonly #advice: () => string;
  readonly #inode: number;
  readonly #watcher: FSWatcher | undefined;
  /** Nothing else would keep a process alive that waits where the kernel tells nothing. */
  readonly #alive = setInterval(() => undefined, 2 ** 30);
  #isTold = true;
  #touched = false;
  #wake: () => void = () => undefined;

  /**
   * @param version changes with every commit of others (`PRAGMA data_version`)
   * @param advice what to do when the database was replaced by another
   */
  constructor(path: string, version: () => number, clock: Clock, advice = () => 'run again') {
    this.#path = path;
    this.#version = version;
    this.#clock = clock;
    this.#advice = advice;
    this.#inode = statSync(path).ino;
    this.#watcher = this.#watch();
  }

  /**
   * Waits until the version is another than `seen`, or `stop`.
   * @throws LccError `data.refused` when the database was replaced by another
   */
  async changedSince(seen: number, stop: AbortSignal): Promise<void> {
    for (let looks = 0; !stop.aborted && this.#version() === seen; looks++) {
      if (this.#touched) looks = 0;
      this.#touched = false;
      this.#requireSame();
      const idleMs = this.#isTold ? TOLD_MS : UNTOLD_MS;
      await this.#pause(LOOKS_MS[looks + 1] ?? idleMs, stop);
    }
  }

  close(): void {
    clearInterval(this.#alive);
    this.#watcher?.close();
  }

  #watch(): FSWatcher | undefined {
    const name = basename(this.#path);
    const untold = () => (this.#isTold = false);
    try {
      // The directory, because the log comes and goes.
      const watcher = watch(dirname(this.#path), (_event, file) => {
        if (file !== null && !file.startsWith(name)) return;
        this.#touched = true;
        this.#wake();
      });
      return watcher.on('error', untold);
    } catch {
      untold();
      return undefined;
    }
  }

  #requireSame(): void {
    const inode = statSync(this.#path, { throwIfNoEntry: false })?.ino;
    if (inode !== undefined && inode !== this.#inode)
      throw new LccError('data.refused', `${this.#path}: replaced by another database; ${this.#advice()}`);
  }

  /** Until something is written, `delayMs` have passed, or `stop`. */
  #pause(delayMs: number, stop: AbortSignal): Promise<void> {
    if (this.#touched) return Promise.resolve();
    return new Promise(resolve => {
      const done = () => {
        cancel();
        stop.removeEventListener('abort', done);
        this.#wake = () => undefined;
        resolve();
      };
      const cancel = this.#clock.after(delayMs, done);
      stop.addEventListener('abort', done);
      this.#wake = done;
    });
  }
}
