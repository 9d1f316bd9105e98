import type { Clock } from '../lib/clock.js';

/** Factor of the rest after counting: this many times as long as the count took. */
const REST = 100;

/** A number that takes a moment to count, for a status that may be asked for at any time. */
export class SparingCount {
  readonly #clock: Clock;
  readonly #count: () => number;
  #counted: { value: number; untilMs: number } | undefined;

  constructor(clock: Clock, count: () => number) {
    this.#clock = clock;
    this.#count = count;
  }

  /** As it is now, or was a while ago: counted again after a hundred times as long as counting took. */
  get value(): number {
    const fromMs = this.#clock.monotonicMs();
    if (this.#counted === undefined || fromMs >= this.#counted.untilMs) {
      const value = this.#count();
      const nowMs = this.#clock.monotonicMs();
      this.#counted = { value, untilMs: nowMs + (nowMs - fromMs) * REST };
    }
    return this.#counted.value;
  }

  /** The count has changed. */
  forget(): void {
    this.#counted = undefined;
  }
}
