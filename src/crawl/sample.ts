/** The sample of an audit: drawn evenly from all that a provider holds, in one pass (reservoir sampling,
 * Vitter's algorithm R), with numbers that nobody can foresee. */
import { randomInt } from 'node:crypto';

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
