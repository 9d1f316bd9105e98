/**
 * Changes on their way to disk, in the order in which they happened: many changes in one transaction, none of
 * which waits long, and the first after a rest not at all. A slow disk gets more of them at a time:
 * everything else stands still meanwhile. A commit that fails for want of room, or because others write for
 * long, is made again, with all that has come since; nothing is forgotten as long as the process lives.
 */
import type { ClearDatabase } from '../../db/clear/database.js';
import type { Clock } from '../../lib/clock.js';
import { LccError, messageOf } from '../../lib/errors.js';
import type { Log } from '../../lib/log.js';
import { step } from '../../lib/steps.js';

interface CommitOptions {
  db: Pick<ClearDatabase, 'write'>;
  clock: Clock;
  log: Log;
  /** Changes of one transaction. */
  maxChanges: number;
  maxWaitMs: number;
  /** How long commits may fail before the process ends. */
  timeoutMs: number;
  /** Something is on disk. */
  committed?: () => void;
  /** Commits have failed for that long, or in a way that no other try would mend. */
  fail: (error: unknown) => void;
}

interface Change {
  make: () => void;
  after: (() => void) | undefined;
}

const RETRY_MS = 1000;
/** How much longer than a commit took is the time until the next; at most that many times the wait that is
 * set. */
const REST_SHARE = 9;
const MOST_WAITS = 10;
/** Errors that may be over soon: others write, there is no room. */
export const PASSING: readonly string[] = ['io.full', 'io', 'try.later'];

export class Commits {
  readonly #options: CommitOptions;
  #changes: Change[] = [];
  #cancel: (() => void) | undefined;
  #trouble: { sinceMs: number; error: string } | undefined;
  /** The last one that succeeded, monotonic. */
  #committedMs = -Infinity;
  #tookMs = 0;

  constructor(options: CommitOptions) {
    this.#options = options;
  }

  /** Why nothing is written for now. */
  get trouble(): string | undefined {
    return this.#trouble?.error;
  }

  /** Changes that are not on disk yet. */
  get waitingCount(): number {
    return this.#changes.length;
  }

  /** @param after called when the change is on disk */
  add(make: () => void, after?: () => void): void {
    this.#changes.push({ make, after });
    const { maxChanges, clock } = this.#options;
    if (this.#trouble !== undefined) return;
    if (this.#changes.length === maxChanges) {
      // Not here: what makes the change goes on first.
      this.#cancel?.();
      this.#cancel = clock.after(0, () => this.#commit());
    } else this.#cancel ??= clock.after(this.#waitMs(), () => this.#commit());
  }

  /** Commits what there is now, if it can. @returns whether all is on disk */
  flush(): boolean {
    this.#cancel?.();
    while (this.#changes.length > 0) if (!this.#commit()) return false;
    return true;
  }

  /**
   * Until the next commit: where the last one was long ago, only until what makes changes now has made all.
   */
  #waitMs(): number {
    const { clock, maxWaitMs } = this.#options;
    const waitMs = Math.min(Math.max(maxWaitMs, REST_SHARE * this.#tookMs), MOST_WAITS * maxWaitMs);
    return Math.max(0, this.#committedMs + waitMs - clock.monotonicMs());
  }

  /** @returns whether it was possible */
  #commit(): boolean {
    const { db, maxChanges, clock } = this.#options;
    this.#cancel = undefined;
    const changes = this.#changes.slice(0, maxChanges);
    if (changes.length === 0) return true;
    const begunMs = clock.monotonicMs();
    try {
      db.write(() => {
        for (const { make } of changes) make();
      });
    } catch (error) {
      this.#failed(error);
      return false;
    }
    this.#committedMs = clock.monotonicMs();
    this.#tookMs = this.#committedMs - begunMs;
    this.#options.committed?.();
    step('clear.batch.committed');
    this.#recovered();
    this.#changes.splice(0, changes.length);
    for (const { after } of changes) after?.();
    if (this.#changes.length > 0) this.#cancel ??= this.#options.clock.after(0, () => this.#commit());
    return true;
  }

  #failed(error: unknown): void {
    const { clock, log, timeoutMs, fail } = this.#options;
    const nowMs = clock.monotonicMs();
    if (!(error instanceof LccError) || !PASSING.includes(error.code)) return fail(error);
    if (this.#trouble === undefined)
      log.error('database not writable; requests wait until it is', {
        error: messageOf(error),
      });
    this.#trouble = { sinceMs: this.#trouble?.sinceMs ?? nowMs, error: messageOf(error) };
    if (nowMs - this.#trouble.sinceMs >= timeoutMs)
      return fail(
        new LccError('try.later', `${messageOf(error)}; given up after ${timeoutMs / 1000} s`, {
          cause: error,
        }),
      );
    this.#cancel = clock.after(RETRY_MS, () => this.#commit());
  }

  #recovered(): void {
    if (this.#trouble === undefined) return;
    this.#options.log.info('database writable again', {});
    this.#trouble = undefined;
  }
}
