/** Chores of the Queue Manager: each when it is due, one after the other. */
import type { Clock } from '../lib/clock.js';

/** Something done from time to time, a bounded piece at a time. */
export interface Chore {
  /** Does the next piece, some milliseconds of work at most. @returns milliseconds until the next one */
  run(): number;
}

/** After a failure that may pass. */
const RETRY_MS = 1000;
/** Where nothing may be committed. */
const HELD_MS = 100;

export class Housekeeping {
  readonly #clock: Clock;
  readonly #chores: { chore: Chore; dueMs: number }[];
  readonly #failed: (error: unknown) => boolean;
  readonly #mayRun: () => boolean;
  #cancel: (() => void) | undefined;

  /**
   * @param failed a chore failed; true: try again later
   * @param mayRun whether anything may be committed
   */
  constructor(
    clock: Clock,
    chores: readonly Chore[],
    failed: (error: unknown) => boolean,
    mayRun = () => true,
  ) {
    this.#mayRun = mayRun;
    this.#clock = clock;
    this.#chores = chores.map(chore => ({ chore, dueMs: 0 }));
    this.#failed = failed;
  }

  start(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const one of this.#chores) one.dueMs = nowMs;
    this.#later();
  }

  stop(): void {
    this.#cancel?.();
  }

  #later(): void {
    const dueMs = Math.min(...this.#chores.map(one => one.dueMs));
    this.#cancel = this.#clock.after(Math.max(0, dueMs - this.#clock.monotonicMs()), () => {
      if (this.#runDue()) this.#later();
    });
  }

  /** @returns false after a failure that will not pass */
  #runDue(): boolean {
    const nowMs = this.#clock.monotonicMs();
    for (const one of this.#chores) {
      if (one.dueMs > nowMs) continue;
      if (!this.#mayRun()) {
        one.dueMs = nowMs + HELD_MS;
        continue;
      }
      try {
        one.dueMs = nowMs + one.chore.run();
      } catch (error) {
        if (!this.#failed(error)) return false;
        one.dueMs = nowMs + RETRY_MS;
      }
    }
    return true;
  }
}
