/**
 * Order of the urls of one provider: its sets in the order of their absorption, a set's urls in the order
 * sent, and at the end of each set the urls that failed, fewest tries first.
 *
 *     untouched ──its first row is taken──▶ reading ──its last one is──▶ waiting ──its rows are done──▶ gone
 *                                             ▲  ▲                       │  │ ▲
 *                                             │  ╰───rows come back──────╯  │ ╰──they are due──╮
 *                                             ╰──────rows come back───── asleep ◀─bad ones are left
 *
 * While a set waits or sleeps the next one goes on: one stubborn url does not hold up what its provider sent
 * later. There may be a million sets of a url each: few of the untouched ones are in memory (untouched.ts),
 * and no further one is begun while `asleep` of them sleep; nothing looks at all of those. Rows that come
 * into a set when their hours have begun are fetched at their places: the set is being read again from the
 * first of them. Nothing here is on disk: after a restart each set is read from the first row that is left.
 */
import { rankOf, type SetClass } from '../../wire/origin.js';
import { Behind } from './behind.js';
import { InOrder } from './in-order.js';
import {
  keyOf,
  newProgress,
  push,
  setBecomes,
  type BegunSetState,
  type OrderedSet,
  type PlacedRow,
  type RowSource,
  type SetProgress,
  type Taken,
} from './progress.js';
import { Reading } from './reading.js';
import { Untouched } from './untouched.js';

/** Places of a set; to read past this many takes less than a millisecond. */
const MANY_PLACES = 1000;
/** Sets gone through in one `take`: sets without urls may follow each other by the million. */
const MAX_GONE_THROUGH = 64;

export type { RowSource } from './progress.js';

export interface OrderOptions {
  pid: number;
  /** Sets kept in memory of which nothing has been taken. */
  untouched: number;
  /** Sets that sleep until a time before no further one is begun. */
  asleep: number;
  /** There may be sets in the database; otherwise all are told by `add`. */
  areStored: boolean;
}

export class ProviderOrder<S extends OrderedSet, R extends PlacedRow> {
  readonly #source: RowSource<S, R>;
  readonly #untouched: Untouched<S>;
  readonly #reading = new Reading<S>();
  readonly #waiting = new Map<number, SetProgress<S>>();
  readonly #asleep = new Map<number, SetProgress<S>>();
  readonly #behind = new Behind<S>();
  /** Those asleep that have failed urls, by the time when the next is due. */
  readonly #wakes = new InOrder<number>();
  readonly #mostAsleep: number;
  #isCutShort = false;

  constructor(source: RowSource<S, R>, { pid, untouched, asleep, areStored }: OrderOptions) {
    this.#source = source;
    this.#mostAsleep = asleep;
    this.#untouched = new Untouched(source, {
      pid,
      most: untouched,
      areStored,
      isBegun: set => this.#find(set) !== undefined,
    });
  }

  /** Number of sets in memory. */
  get setsHere(): number {
    return this.#begun + this.#untouched.size;
  }

  /** True if no set is only in the database. */
  get areAllHere(): boolean {
    return this.#untouched.areAllHere;
  }

  /** Counts the sets that are only in the database; a million take some 20 ms. */
  countElsewhere(): number {
    return this.#untouched.countElsewhere(Number.MAX_SAFE_INTEGER);
  }

  /** True if there are sets; it may be that their rows are gone. */
  get hasSets(): boolean {
    return this.#begun > 0 || this.#untouched.first() !== undefined;
  }

  /** The last `take` stopped after `MAX_GONE_THROUGH` sets without rows: call it again. */
  get isCutShort(): boolean {
    return this.#isCutShort;
  }

  get #begun(): number {
    return this.#reading.size + this.#waiting.size + this.#asleep.size;
  }

  /** A set has been absorbed, or more of it, from a place on. */
  add(set: S, fromPos = set.firstpos): void {
    if (this.#find(set) !== undefined) return this.rewind(set, fromPos);
    this.#untouched.add(set);
  }

  /** Rows have come into a set, which may be here already. @param places where they are, ascending, when they
   * are few */
  join(set: S, places: readonly number[]): void {
    const first = places[0];
    if (first === undefined) return;
    const progress = this.#find(set);
    if (progress === undefined) {
      this.#comeBack(set, first);
      return;
    }
    const passed = progress.read ? places : places.filter(pos => pos <= progress.cursor);
    for (const pos of places) progress.skip?.delete(pos);
    this.#behind.keep(progress, pos => !places.includes(pos));
    if (passed.length > 0) progress.again = [...progress.again, ...passed].sort((a, b) => a - b);
    this.#enter(progress, 'reading');
  }

  /** As `join` for many: the set is read again from `pos`. */
  rewind(set: S, pos: number): void {
    const progress = this.#find(set);
    if (progress === undefined) {
      this.#comeBack(set, pos);
      return;
    }
    progress.cursor = Math.min(progress.cursor, pos - 1);
    progress.read = false;
    progress.badMs = undefined;
    progress.skip = new Set(progress.out);
    progress.again = progress.again.filter(place => place <= progress.cursor);
    this.#behind.keep(progress, place => place <= progress.cursor);
    this.#enter(progress, 'reading');
  }

  /** Rows of a set that is not begun are read in its turn. Where the first of its
   * rows are need not be remembered unless it has many places, in which others may be that wait. */
  #comeBack(set: S, first: number): void {
    if (set.lastpos - set.firstpos < MANY_PLACES) {
      this.#untouched.comeBack(set);
    } else if (!this.#untouched.has(set)) {
      this.#begin(set, first);
    }
  }

  /** Takes the next rows, fewer than `limit` when there are no more for now. They are out until settled. */
  take(limit: number, nowMs: number): Taken<S, R>[] {
    const taken: Taken<S, R>[] = [];
    this.#isCutShort = false;
    this.#wake(this.#wakes.takeUpTo(nowMs));
    const next = this.nextClass();
    for (const progress of this.#waiting.values()) {
      if (taken.length >= limit) return taken;
      if (next === undefined || progress.set.class <= next) this.#takeBad(progress, limit, nowMs, taken);
    }
    for (let empty = 0; taken.length < limit && !this.#isCutShort;) {
      // Those of a higher class go into a lane that counts less.
      if (taken.length > 0 && this.nextClass() !== taken.at(-1)?.set.class) return taken;
      const first = this.#first();
      if (first === undefined) return taken;
      const before = taken.length;
      this.#takeInOrder(first, limit, taken);
      if (!first.read || first.again.length > 0) return taken;
      this.#enter(first, 'waiting');
      this.#takeBad(first, limit, nowMs, taken);
      if (taken.length === before) this.#isCutShort = ++empty === MAX_GONE_THROUGH;
    }
    return taken;
  }

  /** The class of the set that is read next, which may be found empty; where none is, of those that wait for
   * failed urls the lowest. */
  nextClass(): SetClass | undefined {
    const reading = this.#reading.first()?.set.class;
    const set = this.#wakes.size < this.#mostAsleep ? this.#untouched.first()?.class : undefined;
    if (reading !== undefined || set !== undefined) return lowest(reading, set);
    let found: SetClass | undefined;
    for (const { set: waiting } of this.#waiting.values()) found = lowest(found, waiting.class);
    return found;
  }

  /** How many rows could be taken now, bad ones apart, counted as far as `most`; one of each set that is far
   * off. */
  waiting(most: number): number {
    let found = 0;
    for (const { set, cursor, read, again } of this.#reading.values()) {
      found += again.length;
      if (!read && found < most) found += this.#source.count(set, cursor, most - found);
      if (found >= most) return most;
    }
    for (const set of this.#untouched.next()) {
      if (found >= most) return most;
      const isOne = set.firstpos === set.lastpos;
      found += isOne ? 1 : this.#source.count(set, set.firstpos - 1, most - found);
    }
    return found >= most ? most : found + this.#untouched.countElsewhere(most - found);
  }

  /** True if all rows of a set have been taken that have not failed. */
  isRead(set: S): boolean {
    return this.#find(set)?.read === true;
  }

  /** The row at `pos` needs nothing more. */
  done(set: S, pos: number): void {
    const progress = this.#find(set);
    if (progress === undefined) return;
    progress.out.delete(pos);
    if (progress.read) progress.badMs = undefined;
  }

  /** The row must be taken again, at its place. */
  again(set: S, pos: number): void {
    const progress = this.#find(set);
    if (progress === undefined) return;
    progress.out.delete(pos);
    // Back before the cursor has come to it again: it is read in its turn.
    if (!progress.read && pos > progress.cursor && progress.skip?.delete(pos) === true) return;
    progress.again.push(pos);
    progress.again.sort((a, b) => a - b);
    this.#enter(progress, 'reading');
  }

  /**
   * The row's host does not answer, others may: it is taken by `takeBehind` only, without a try being
   * counted.
   * @returns false when the list of those is full: the row has to stay where it is
   */
  behind(set: S, pos: number): boolean {
    const progress = this.#find(set);
    if (progress === undefined || !this.#behind.add(progress, pos)) return false;
    progress.out.delete(pos);
    return true;
  }

  /** Takes up to `limit` rows set aside by `behind`, the one that is there longest first. */
  takeBehind(limit: number): Taken<S, R>[] {
    const taken: Taken<S, R>[] = [];
    for (const progress of this.#behind.sets()) {
      if (progress.state === 'asleep') this.#enter(progress, 'waiting');
      while (taken.length < limit && progress.behind.length > 0) {
        const row = this.#source.at(this.#behind.take(progress) ?? 0);
        if (row !== undefined) push(progress, row, taken);
      }
      if (progress.behind.length > 0) return taken;
    }
    return taken;
  }

  /** The row has now failed `tries` times and is not due before `dueMs`. */
  bad(set: S, pos: number, tries: number, dueMs: number): void {
    const progress = this.#find(set);
    if (progress === undefined) return;
    progress.out.delete(pos);
    progress.dueMs.set(tries, dueMs);
    progress.badMs = undefined;
  }

  /** Bad urls are due now. */
  forgetDelays(): void {
    this.#wake([...this.#asleep.keys()]);
    for (const progress of [...this.#waiting.values(), ...this.#reading.values()]) {
      progress.dueMs.clear();
      progress.badMs = undefined;
    }
  }

  /** Sets that have no row left; they are forgotten here. Those that only wait for their bad urls go to
   * sleep. */
  finished(): S[] {
    const over: S[] = [];
    for (const [key, progress] of this.#waiting) {
      if (progress.out.size > 0 || progress.again.length > 0) continue;
      const badMs = this.#badMs(progress);
      if (badMs !== Infinity || progress.behind.length > 0) {
        this.#enter(progress, 'asleep');
        if (badMs !== Infinity) this.#wakes.set(key, badMs);
        continue;
      }
      this.#enter(progress, 'gone');
      if (this.#source.hasRows(progress.set))
        this.#reading.set(key, newProgress(progress.set, progress.set.firstpos));
      else over.push(progress.set);
    }
    return over;
  }

  /** When `take` may find bad urls, monotonic milliseconds; undefined when none are waiting. Of a set with
   * rows out that is known when `finished` has been asked. */
  nextDueMs(): number | undefined {
    return this.#wakes.first()?.at;
  }

  #wake(keys: readonly number[]): void {
    for (const key of keys) {
      const progress = this.#asleep.get(key);
      if (progress !== undefined) this.#enter(progress, 'waiting');
    }
  }

  /** Takes a set to another state, if it is not in that; only here and where one begins are the sets of a
   * state changed. */
  #enter(progress: SetProgress<S>, state: BegunSetState): void {
    if (progress.state === state) return;
    const key = keyOf(progress.set);
    this.#in(progress.state)?.delete(key);
    if (progress.state === 'asleep') this.#wakes.delete(key);
    progress.state = setBecomes(progress.state, state, key);
    this.#in(state)?.set(key, progress);
  }

  #in(state: BegunSetState): Reading<S> | Map<number, SetProgress<S>> | undefined {
    switch (state) {
      case 'reading':
        return this.#reading;
      case 'waiting':
        return this.#waiting;
      case 'asleep':
        return this.#asleep;
      case 'gone':
        return undefined;
    }
  }

  #begin(set: S, fromPos: number): SetProgress<S> {
    const begun = newProgress(set, fromPos);
    this.#untouched.begin(set);
    this.#reading.set(keyOf(set), begun);
    return begun;
  }

  /** The set to be read now. */
  #first(): SetProgress<S> | undefined {
    const reading = this.#reading.first();
    // Sets that sleep because of a silent host have a limit of their own, and wait for others to be fetched.
    const set = this.#wakes.size < this.#mostAsleep ? this.#untouched.first() : undefined;
    if (set === undefined) return reading;
    if (reading !== undefined && rankOf(reading.set) <= rankOf(set)) return reading;
    return this.#begin(set, set.firstpos);
  }

  #takeInOrder(progress: SetProgress<S>, limit: number, taken: Taken<S, R>[]): void {
    while (progress.again.length > 0 && taken.length < limit) {
      const row = this.#source.at(progress.again.shift() ?? 0);
      if (row === undefined) continue;
      if (row.tries === 0) push(progress, row, taken);
      // A failed row stays after those of its set that have not failed, also when it comes back from its
      // hours.
      else progress.badMs = undefined;
    }
    while (!progress.read && taken.length < limit) {
      const wanted = limit - taken.length;
      const rows = this.#source.next(progress.set, progress.cursor, wanted);
      for (const row of rows) if (!progress.skip?.has(row.pos)) push(progress, row, taken);
      progress.cursor = rows.at(-1)?.pos ?? progress.cursor;
      progress.read = rows.length < wanted || progress.cursor >= progress.set.lastpos;
    }
  }

  #takeBad(progress: SetProgress<S>, limit: number, nowMs: number, taken: Taken<S, R>[]): void {
    if (this.#badMs(progress) > nowMs) return;
    progress.badMs = undefined;
    const { psetid } = progress.set;
    const tries = this.#source.leastTries(psetid);
    // The failed rows were removed meanwhile: the set's other rows have not failed, and may be set aside by
    // `behind`.
    if (tries === undefined) return;
    const wanted = limit - taken.length;
    const rows = this.#source.bad(psetid, tries, 0, wanted + progress.out.size);
    for (const row of rows.filter(r => !progress.out.has(r.pos)).slice(0, wanted)) push(progress, row, taken);
  }

  #badMs(progress: SetProgress<S>): number {
    if (progress.badMs === undefined) {
      const tries = this.#source.leastTries(progress.set.psetid);
      progress.badMs = tries === undefined ? Infinity : (progress.dueMs.get(tries) ?? 0);
    }
    return progress.badMs;
  }

  #find(set: S): SetProgress<S> | undefined {
    const key = keyOf(set);
    return this.#reading.get(key) ?? this.#waiting.get(key) ?? this.#asleep.get(key);
  }
}

function lowest(a: SetClass | undefined, b: SetClass | undefined): SetClass | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a < b ? a : b;
}
