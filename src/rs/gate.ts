/** Commits of lccd-rs are in the engine of a kept home before anything says so. */
import { shippedWithin, type Kept } from '../daemon/kept.js';
import type { Clock } from '../lib/clock.js';

/** A request is refused that waits for longer. */
const ANSWER_TIMEOUT_MS = 10_000;

export class RsGate {
  readonly #kept: Kept;
  readonly #clock: Clock;
  #commits = 0;
  /** Commits that are known to be in the engine. */
  #shipped = 0;

  constructor(kept: Kept, clock: Clock) {
    this.#kept = kept;
    this.#clock = clock;
  }

  /** Something was committed by this process. */
  committed(): void {
    this.#commits++;
  }

  /** Before an answer: of what this process has committed. @throws LccError `try.later` */
  async answers(): Promise<void> {
    const commits = this.#commits;
    if (commits === this.#shipped) return;
    await shippedWithin(this.#kept, 'rs', this.#clock, ANSWER_TIMEOUT_MS);
    this.#shipped = Math.max(this.#shipped, commits);
  }

  /** Before an operation or a mail: of all there is, by lccrs as well. @throws LccError `try.later` */
  leaves(): Promise<void> {
    return this.#kept.shipped('rs');
  }
}
