/** A set of numbers, as ranges: those that were added nearly in order take next to no memory. */
export class NumberRanges {
  /** First numbers, in order, and the last one of each. */
  readonly #firsts: number[] = [];
  readonly #lasts: number[] = [];

  get ranges(): number {
    return this.#firsts.length;
  }

  has(number: number): boolean {
    const at = this.#at(number);
    return at >= 0 && number <= (this.#lasts[at] ?? -Infinity);
  }

  add(number: number): void {
    const at = this.#at(number);
    const last = this.#lasts[at] ?? -Infinity;
    if (at >= 0 && number <= last) return;
    const joinsBefore = at >= 0 && number === last + 1;
    const joinsAfter = this.#firsts[at + 1] === number + 1;
    if (joinsBefore && joinsAfter) {
      this.#lasts[at] = this.#lasts[at + 1] ?? number;
      this.#firsts.splice(at + 1, 1);
      this.#lasts.splice(at + 1, 1);
    } else if (joinsBefore) this.#lasts[at] = number;
    else if (joinsAfter) this.#firsts[at + 1] = number;
    else {
      this.#firsts.splice(at + 1, 0, number);
      this.#lasts.splice(at + 1, 0, number);
    }
  }

  /** The last range that begins at or before the number; -1: none does. */
  #at(number: number): number {
    let low = 0;
    let high = this.#firsts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#firsts[middle] ?? Infinity) <= number) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}
