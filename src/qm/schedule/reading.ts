import type { OrderedSet, SetProgress } from './progress.js';

/**
 * The sets of a provider that are being read, in their order. Urls may come back into thousands at once, and
 * sets before all of those are begun one after the other: they are put in order when the first is wanted, and
 * one before all others at once.
 */
export class Reading<S extends OrderedSet> {
  readonly #sets = new Map<number, SetProgress<S>>();
  /** Keys (keyOf), the first set's last; of those at the end some may be gone. */
  #keys: number[] = [];
  /** Those that are not among `#keys`. */
  #fresh: number[] = [];

  get size(): number {
    return this.#sets.size;
  }

  get(key: number): SetProgress<S> | undefined {
    return this.#sets.get(key);
  }

  set(key: number, progress: SetProgress<S>): void {
    if (!this.#sets.has(key)) this.#fresh.push(key);
    this.#sets.set(key, progress);
  }

  delete(key: number): void {
    this.#sets.delete(key);
  }

  first(): SetProgress<S> | undefined {
    this.#putInOrder();
    for (let key = this.#keys.at(-1); key !== undefined; key = this.#keys.at(-1)) {
      const progress = this.#sets.get(key);
      if (progress !== undefined) return progress;
      this.#keys.pop();
    }
    return undefined;
  }

  /** In no order. */
  values(): Iterable<SetProgress<S>> {
    return this.#sets.values();
  }

  #putInOrder(): void {
    const [key, ...others] = this.#fresh;
    if (key === undefined) return;
    if (others.length === 0 && key < (this.#keys.at(-1) ?? Infinity)) this.#keys.push(key);
    else this.#keys = [...this.#keys, ...this.#fresh].sort((a, b) => b - a);
    this.#fresh = [];
  }
}
