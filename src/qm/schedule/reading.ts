import { InOrder } from './in-order.js';
import type { OrderedSet, SetProgress } from './progress.js';

/** The sets of a provider that are being read, by their keys (keyOf), which rise with their order. */
export class Reading<S extends OrderedSet> extends Map<number, SetProgress<S>> {
  readonly #keys = new InOrder<number>();

  override set(key: number, progress: SetProgress<S>): this {
    this.#keys.set(key, key);
    return super.set(key, progress);
  }

  override delete(key: number): boolean {
    this.#keys.delete(key);
    return super.delete(key);
  }

  first(): SetProgress<S> | undefined {
    const first = this.#keys.first();
    return first && this.get(first.key);
  }
}
