/**
 * The sample of an audit: drawn evenly from all that a provider holds, in one pass (reservoir sampling, Vitter's algorithm R), with
 * numbers that nobody can foresee.
 */
import { randomInt } from 'node:crypto';

/** None of 59 silent: fewer than 5 % are, at 95 % (0.95⁵⁹ = 0.048). */
const FIRST = 59;
/** Sample of a large site for ± 5 points. */
const LARGE = 385;

/** How many urls an audit takes in all. @param held of the provider @param silent found silent so far */
export function sampleSize(held: number, silent: number): number {
  if (silent === 0) return Math.min(held, FIRST);
  return Math.min(held, Math.ceil((LARGE * held) / (LARGE - 1 + held)));
}

/** Urls of a provider that audits ask for in a day, at most. */
export function dailySample(held: number): number {
  return Math.max(FIRST, Math.ceil(held / 100));
}

export class Reservoir {
  readonly #size: number;
  readonly #random: (below: number) => number;
  readonly #ids: number[] = [];
  #seen = 0;

  /** @param random a whole number from 0 on, below its argument */
  constructor(size: number, random: (below: number) => number = randomInt) {
    this.#size = size;
    this.#random = random;
  }

  add(id: number): void {
    this.#seen++;
    if (this.#ids.length < this.#size) {
      this.#ids.push(id);
      return;
    }
    if (this.#size === 0) return;
    const place = this.#random(this.#seen);
    if (place < this.#size) this.#ids[place] = id;
  }

  get ids(): readonly number[] {
    return this.#ids;
  }
}
