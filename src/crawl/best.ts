/** The few of many that are worth most: a heap with the least of them on top. */
export interface Rated {
  id: number;
  worth: number;
}

export class Best {
  readonly #most: number;
  readonly #heap: Rated[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  /** True if one of that worth would be among them. Of two that are worth the same the one with the lower id
   * is. */
  wants(id: number, worth: number): boolean {
    if (this.#heap.length < this.#most) return true;
    const least = this.#heap[0];
    return least !== undefined && isLess(least, { id, worth });
  }

  add(rated: Rated): void {
    const heap = this.#heap;
    if (heap.length < this.#most) {
      heap.push(rated);
      this.#rise(heap.length - 1);
    } else if (heap[0] !== undefined && isLess(heap[0], rated)) {
      heap[0] = rated;
      this.#sink();
    }
  }

  /** All of them, best first. */
  ranked(): Rated[] {
    return this.#heap.toSorted((a, b) => (isLess(a, b) ? 1 : -1));
  }

  #rise(from: number): void {
    const heap = this.#heap;
    for (let at = from; at > 0;) {
      const parent = (at - 1) >> 1;
      const [above, below] = [heap[parent], heap[at]];
      if (above === undefined || below === undefined || !isLess(below, above)) return;
      [heap[parent], heap[at]] = [below, above];
      at = parent;
    }
  }

  #sink(): void {
    const heap = this.#heap;
    for (let at = 0; ;) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      let least = at;
      for (const child of [left, right]) {
        const [a, b] = [heap[child], heap[least]];
        if (a !== undefined && b !== undefined && isLess(a, b)) least = child;
      }
      const [above, below] = [heap[at], heap[least]];
      if (least === at || above === undefined || below === undefined) return;
      [heap[at], heap[least]] = [below, above];
      at = least;
    }
  }
}

function isLess(a: Rated, b: Rated): boolean {
  return a.worth < b.worth || (a.worth === b.worth && a.id > b.id);
}
