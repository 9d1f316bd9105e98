/** The few of many that are worth most: the rest is cut off whenever there are twice as many. */
export interface Rated {
  id: number;
  worth: number;
}

export class Best {
  readonly #most: number;
  #kept: Rated[] = [];
  /** At the last cut, where anything was cut off. */
  #least: Rated | undefined;

  constructor(most: number) {
    this.#most = most;
  }

  /** False if one of that worth cannot be among them. Of two of the same worth the lower id is better. */
  wants(id: number, worth: number): boolean {
    return this.#least === undefined || byWorth({ id, worth }, this.#least) < 0;
  }

  add(rated: Rated): void {
    if (this.#kept.push(rated) >= 2 * this.#most) this.#cut();
  }

  /** All of them, best first. */
  ranked(): readonly Rated[] {
    this.#cut();
    return this.#kept;
  }

  #cut(): void {
    const kept = this.#kept.toSorted(byWorth).slice(0, this.#most);
    if (kept.length < this.#kept.length) this.#least = kept.at(-1);
    this.#kept = kept;
  }
}

function byWorth(a: Rated, b: Rated): number {
  return a.worth === b.worth ? a.id - b.id : a.worth < b.worth ? 1 : -1;
}
