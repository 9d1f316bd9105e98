/**
 * The sets of one provider of which nothing has been taken, in their order: the first of them here, the others where they
 * are, in the database. Their number may be a million; what is here is bounded.
 *
 * All sets up to `#end` are here, or were and are begun; those after it are only in the database, and are read when few are
 * left here. So a set is found once, although its entry stays in the database for a while after its last url is done. Where
 * urls come back into a set that is not here, `#end` goes back to it, for there may be a million of those: then what is
 * begun after it is met again, and passed over. A set that is done may be met again too; it is found empty.
 */
export interface NumberedSet {
  psetid: number;
}

/** Where sets wait. */
export interface SetSource<S extends NumberedSet> {
  /** The provider's next sets after `afterPsetid`, in their order. */
  sets(pid: number, afterPsetid: number, limit: number): S[];
  /** How many there are of those, counted as far as `most`. */
  countSets(pid: number, afterPsetid: number, most: number): number;
}

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
  /** By psetid, ascending. */
  #sets = new Map<number, S>();
  /** Infinity: none is only in the database. */
  #end: number;
  /** The last set known so far. */
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

  /** Whether none is only in the database. */
  get areAllHere(): boolean {
    return this.#end === Infinity;
  }

  /** A set is complete, and in the database. */
  add(set: S): void {
    // safeguard: sets that come while others are only in the database waiting there
    if (set.psetid > this.#end) return;
    if (this.#sets.size >= this.#most && this.areAllHere && set.psetid > this.#last) this.#end = this.#last;
    else this.#put(set);
  }

  /** Whether the set, which is not begun, is one of these. */
  has({ psetid }: S): boolean {
    // safeguard: knowing sets that are only in the database, when rows come back into them
    return psetid > this.#end || this.#sets.has(psetid);
  }

  /** Urls have come back into the set, which is not begun: it is read from the database in its turn. */
  comeBack(set: S): void {
    if (this.has(set)) return;
    // safeguard: going back to sets that urls come back into
    this.#end = set.psetid - 1;
    for (const psetid of this.#sets.keys()) if (psetid > this.#end) this.#sets.delete(psetid);
  }

  /** The set is begun. */
  begin({ psetid }: S): void {
    this.#sets.delete(psetid);
    this.#last = Math.max(this.#last, psetid);
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
      for (const set of sets) if (!this.#isBegun(set)) this.#sets.set(set.psetid, set);
      const last = sets.at(-1)?.psetid ?? 0;
      this.#last = Math.max(this.#last, last);
      // safeguard: reading on behind the sets that are in memory
      this.#end = sets.length < room ? Infinity : last;
    }
  }

  #put(set: S): void {
    const { psetid } = set;
    const isLast = psetid > this.#last;
    this.#sets.set(psetid, set);
    if (isLast) this.#last = psetid;
    else this.#sets = new Map([...this.#sets].sort(([a], [b]) => a - b));
  }
}
