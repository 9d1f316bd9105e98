/** Things that are due at some time each, the earliest first, however many wait: a binary heap. */

interface Waiting<T> {
  dueMs: number;
  value: T;
}

export class DueQueue<T> {
  readonly #heap: Waiting<T>[] = [];

  get size(): number {
    return this.#heap.length;
  }

  /** When the first is due; undefined when there is none. */
  get nextMs(): number | undefined {
    return this.#heap[0]?.dueMs;
  }

  push(dueMs: number, value: T): void {
    const heap = this.#heap;
    let at = heap.push({ dueMs, value }) - 1;
    for (let above = (at - 1) >> 1; at > 0 && this.#dueMs(above) > dueMs; above = (at - 1) >> 1) {
      this.#swap(at, above);
      at = above;
    }
  }

  /** Takes the first if it is due; undefined when none is. */
  shift(nowMs: number): T | undefined {
    const [first] = this.#heap;
    if (first === undefined || first.dueMs > nowMs) return undefined;
    const last = this.#heap.pop();
    if (last !== undefined && last !== first) {
      this.#heap[0] = last;
      this.#sink();
    }
    return first.value;
  }

  #sink(): void {
    for (let at = 0; ;) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      const least = this.#dueMs(right) < this.#dueMs(left) ? right : left;
      if (this.#dueMs(least) >= this.#dueMs(at)) return;
      this.#swap(at, least);
      at = least;
    }
  }

  #dueMs(at: number): number {
    return this.#heap[at]?.dueMs ?? Infinity;
  }

  #swap(a: number, b: number): void {
    const [first, second] = [this.#heap[a], this.#heap[b]];
    if (first === undefined || second === undefined) return;
    this.#heap[a] = second;
    this.#heap[b] = first;
  }
}
