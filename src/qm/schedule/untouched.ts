/**
 * The sets of one provider of which nothing has been taken, in their order: the first of them here, the
 * others where they are, in the database. Their number may be a million; what is here is bounded.
 *
 * All sets up to `#end` are here, or were and are begun; those after it are only in the database, and are
 * read when few are left here. So a set is found once, although its entry stays in the database for a while
 * after its last url is done. Where urls come back into a set that is not here, `#end` goes back to it, for
 * there may be a million of those: then what is begun after it is met again, and passed over. A set that is
 * done may be met again too; it is found empty.
 */
import { rankOf, type SetClass } from '../../wire/origin.js';

export interface NumberedSet {
  psetid: number;
  class: SetClass;
}

/** Where sets wait. */
export interface SetSource<S extends NumberedSet> {
  /** The provider's next sets after one of that rank, in their order. */
  sets(pid: number, afterRank: number, limit: number): S[];
  /** How many there are of those, counted as far as `most`. */
  countSets(pid: number, afterRank: number, most: number): number;
}

/** Multiple of `most` beyond which sets that are out of their order go back to the database. */
const MOST_TIMES = 2;

export interface UntouchedOptions<S> {
  pid: number;
  /** Kept here; a few more when sets come out of their order. */
  most: number;
  /** There may be sets in the database already. */
  areStored: boolean;
  isBegun: (set: S) => boolean;
}

export class Untouched<S extends NumberedSet> {
  readonly #source: SetSource<S>;
  readonly #pid: number;
  readonly #most: number;
  readonly #isBegun: (set: S) => boolean;
  /** By rank (rankOf), ascending. */
  #sets = new Map<number, S>();
  /** A rank; Infinity: none is only in the database. */
  #end: number;
  /** The rank of the last set known so far. */
  #last = 0;

  constructor(source: SetSource<S>, { pid, most, areStored, isBegun }: UntouchedOptions<S>) {
    this.#source = source;
    this.#pid = pid;
    this.#most = most;
    this.#isBegun = isBegun;
    this.#end = areStored ? 0 : Infinity;
  }

  /** Sets that are here. */
  get size(): number {
    return this.#sets.size;
  }

  /** True if none is only in the database. */
  get areAllHere(): boolean {
    return this.#end === Infinity;
  }

  /** A set is complete, and in the database. */
  add(set: S): void {
    const rank = rankOf(set);
    // safeguard: sets that come while others are only in the database waiting there
    if (rank > this.#end) return;
    if (this.#sets.size >= this.#most && this.areAllHere && rank > this.#last) this.#end = this.#last;
    else this.#put(set, rank);
    if (this.#sets.size > MOST_TIMES * this.#most) this.#trim();
  }

  /** True if the set, which is not begun, is one of these. */
  has(set: S): boolean {
    const rank = rankOf(set);
    // safeguard: knowing sets that are only in the database, when rows come back into them
    return rank > this.#end || this.#sets.has(rank);
  }

  /** Urls have come back into the set, which is not begun: it is read from the database in its turn. */
  comeBack(set: S): void {
    if (this.has(set)) return;
    // safeguard: going back to sets that urls come back into
    this.#goBackTo(rankOf(set) - 1);
  }

  /** The set is begun. */
  begin(set: S): void {
    const rank = rankOf(set);
    this.#sets.delete(rank);
    this.#last = Math.max(this.#last, rank);
  }

  first(): S | undefined {
    this.#readOn();
    for (const set of this.#sets.values()) return set;
    return undefined;
  }

  /** The sets that are here: at least half of the limit, when the provider has that many. */
  next(): Iterable<S> {
    this.#readOn();
    return this.#sets.values();
  }

  /** How many are only in the database, counted as far as `most`. */
  countElsewhere(most: number): number {
    return this.areAllHere ? 0 : this.#source.countSets(this.#pid, this.#end, most);
  }

  #readOn(): void {
    while (!this.areAllHere && this.#sets.size <= this.#most / 2) {
      const room = this.#most - this.#sets.size;
      const sets = this.#source.sets(this.#pid, this.#end, room);
      // safeguard: passing over what is begun when sets are met again
      for (const set of sets) if (!this.#isBegun(set)) this.#sets.set(rankOf(set), set);
      const lastSet = sets.at(-1);
      const last = lastSet === undefined ? 0 : rankOf(lastSet);
      this.#last = Math.max(this.#last, last);
      // safeguard: reading on behind the sets that are in memory
      this.#end = sets.length < room ? Infinity : last;
    }
  }

  /** Sets of a lower class may come without end while those of a higher one wait: only the first of all stay
   * here. */
  #trim(): void {
    let kept = 0;
    for (const rank of this.#sets.keys()) if (++kept === this.#most) return this.#goBackTo(rank);
  }

  #goBackTo(end: number): void {
    this.#end = end;
    for (const rank of this.#sets.keys()) if (rank > end) this.#sets.delete(rank);
  }

  #put(set: S, rank: number): void {
    const isLast = rank > this.#last;
    this.#sets.set(rank, set);
    if (isLast) this.#last = rank;
    else this.#sets = new Map([...this.#sets].sort(([a], [b]) => a - b));
  }
}
