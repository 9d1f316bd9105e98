import { keyOf, type OrderedSet, type SetProgress } from './progress.js';

/** Places of a provider that are remembered as taken last; further ones keep their turn. */
const MAX_PLACES = 100_000;

/** Places of a provider's urls that are taken when nothing else is left: their host does not answer, others
 * may. */
export class Behind<S extends OrderedSet> {
  /** The sets that have such places, the one that is here longest first. */
  readonly #sets = new Map<number, SetProgress<S>>();
  #places = 0;

  /** @returns false when there are `MAX_PLACES`: the place has to stay where it is */
  add(progress: SetProgress<S>, pos: number): boolean {
    if (this.#places >= MAX_PLACES) return false;
    const key = keyOf(progress.set);
    progress.behind.push(pos);
    this.#places++;
    this.#sets.delete(key);
    this.#sets.set(key, progress);
    return true;
  }

  /** Sets may lose all of theirs meanwhile. */
  sets(): Iterable<SetProgress<S>> {
    return this.#sets.values();
  }

  /** Takes the next place of a set out. @returns undefined when it has no more */
  take(progress: SetProgress<S>): number | undefined {
    const pos = progress.behind.shift();
    if (pos === undefined) return undefined;
    this.#places--;
    if (progress.behind.length === 0) this.#sets.delete(keyOf(progress.set));
    return pos;
  }

  /** Places of a set that are not kept are taken otherwise. */
  keep(progress: SetProgress<S>, isKept: (pos: number) => boolean): void {
    if (progress.behind.length === 0) return;
    const kept = progress.behind.filter(isKept);
    this.#places -= progress.behind.length - kept.length;
    progress.behind = kept;
    if (kept.length === 0) this.#sets.delete(keyOf(progress.set));
  }
}
