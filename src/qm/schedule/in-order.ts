/**
 * Keys in the order of a number that each has (a time, a rank), among equals in that of their coming, however
 * many there are: a heap, in which those that were taken out stay until they come up.
 */
interface Entry<K> {
  key: K;
  at: number;
  /** Among equals. */
  order: number;
}

/** Entries that were taken out and are still in the heap, beyond as many as it has: a fresh one is made
 * without them. */
const MAX_STALE = 64;

export class InOrder<K> {
  readonly #entries = new Map<K, Entry<K>>();
  #heap: Entry<K>[] = [];
  #added = 0;

  get size(): number {
    return this.#entries.size;
  }

  has(key: K): boolean {
    return this.#entries.has(key);
  }

  /** @returns undefined: it is not here */
  at(key: K): number | undefined {
    return this.#entries.get(key)?.at;
  }

  /** Puts the key at its place, wherever it was before. */
  set(key: K, at: number): void {
    this.delete(key);
    const entry = { key, at, order: this.#added++ };
    this.#entries.set(key, entry);
    this.#push(entry);
  }

  delete(key: K): void {
    if (!this.#entries.delete(key) || this.#heap.length <= 2 * this.#entries.size + MAX_STALE) return;
    this.#heap = [...this.#entries.values()].toSorted((a, b) => (isBefore(a, b) ? -1 : 1));
  }

  first(): Pick<Entry<K>, 'key' | 'at'> | undefined {
    for (;;) {
      const [top] = this.#heap;
      if (top === undefined || this.#entries.get(top.key) === top) return top;
      this.#pop();
    }
  }

  /** Takes those out that are at no more than that, in their order. */
  takeUpTo(at: number): K[] {
    const keys: K[] = [];
    for (let next = this.first(); next !== undefined && next.at <= at; next = this.first()) {
      this.#entries.delete(next.key);
      keys.push(next.key);
    }
    return keys;
  }

  /** In no order. */
  keys(): Iterable<K> {
    return this.#entries.keys();
  }

  #push(entry: Entry<K>): void {
    const heap = this.#heap;
    let at = heap.length;
    while (at > 0) {
      const above = (at - 1) >>> 1;
      const parent = heap[above];
      if (parent === undefined || !isBefore(entry, parent)) break;
      heap[at] = parent;
      at = above;
    }
    heap[at] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const [a, b] = [heap[left], heap[left + 1]];
      if (a === undefined) break;
      const least = b !== undefined && isBefore(b, a) ? b : a;
      if (!isBefore(least, last)) break;
      heap[at] = least;
      at = least === a ? left : left + 1;
    }
    heap[at] = last;
  }
}

function isBefore<K>(a: Entry<K>, b: Entry<K>): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
