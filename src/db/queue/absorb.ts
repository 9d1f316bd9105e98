/**
 * Absorbing provider sets (semantics.md, rules 1 to 5, 12, 14).
 *
 * A set moves through: unknown → (first slice) begun → (last slice) named whole → (a full set: reconciled) → complete.
 * Each arrow is made of transactions that leave the database as if the set ended there: `absorbed.rowsdone` says how
 * many of its urls are applied, and a set sent again goes on after them. What shows before a set is complete: urls
 * that already waited have its attributes, deletions are done, its new urls have rows but no entry in qpsdb and so are
 * not fetched. That is safe because a set reaches the Queue Manager only after its provider was told `set_accepted`: its
 * rest will come. What a full set does not name is removed only after its last url was read, and so are the deletes of a
 * partial set with more of them than the fuse lets pass unseen (held.ts).
 */
import { isDelete, type UrlRecord } from '../../wire/url.js';
import { saysUnchanged } from '../cache/as-announced.js';
import type { ContentStore, Held } from '../cache/content.js';
import type { ErrorStore } from '../cache/errors.js';
import type { Tally } from '../cache/tally.js';
import { Counter } from '../sqlite/counters.js';
import type { Db } from '../sqlite/open.js';
import type { HeldStore } from './held.js';
import { QueueInserter } from './insert.js';
import { EarlierSets, IntakeQuota } from './quota.js';
import { CANCEL_ROW, FLAG_IFABSENT, queuedUrl, recordOfRow, type QueuedUrl } from './row.js';
import type { QueueReader } from './sets.js';

/** A set as a UNS offers it. */
export interface OfferedSet {
  uns: string;
  entry: string;
  pid: number;
  full: boolean;
  /** Urls in the set: that many places in the queue are set aside for it. */
  received: number;
  /** When the UNS accepted it, seconds. */
  atS: number;
}

export interface SetCounts {
  /** Urls that got a row in the queue. */
  queued: number;
  /** Urls that waited already. */
  duplicate: number;
  /** Urls that need nothing done. */
  unchanged: number;
  /** Urls whose content or waiting fetch was removed, those a full set does not name included. */
  deleted: number;
}

/** Where a set stands: the row of `absorbed`. */
export interface SetState extends SetCounts {
  psetid: number;
  pid: number;
  firstpos: number;
  lastpos: number;
  rowsdone: number;
  complete: number;
  files: number;
  space: number;
  /** It has no row yet, for it began in this transaction. */
  begun?: Pick<OfferedSet, 'uns' | 'entry' | 'atS' | 'full'> | undefined;
}

export interface AbsorbStores {
  queue: QueueReader;
  tally: Tally;
  content: ContentStore;
  errors: ErrorStore;
  held: HeldStore;
}

/** How to read the urls of a set. */
export interface SetKindRules {
  full: boolean;
  /** Deletes are noted (held.ts) instead of carried out. */
  withheld: boolean;
  /** With these urls it is complete: `complete` must follow in the same transaction. */
  isLast: boolean;
}

export interface UrlReading {
  /** Puts the set's urlprefix in front of urls without a scheme. */
  resolve: (url: string) => string;
  /** Reads any form of mtime; undefined when it is none. */
  mtimeOf: (text: string) => string | undefined;
}

/** A UNS forgets an entry as soon as it is told that it was absorbed: far fewer than these can come again. */
const REMEMBERED_SETS = 10_000;
const PRUNE_EVERY = 1000;

export class AbsorbWriter {
  readonly #queue: QueueReader;
  readonly #content: ContentStore;
  readonly #errors: ErrorStore;
  readonly #held: HeldStore;
  readonly #tally: Tally;
  readonly #insert: QueueInserter;
  readonly #earlier: EarlierSets;
  readonly #psetids: Counter;
  readonly #places: Counter;
  readonly #selectSet;
  readonly #insertSet;
  readonly #updateProgress;
  readonly #selectWaiting;
  readonly #cancelRow;
  readonly #nameRow;
  readonly #countInserted;
  readonly #markComplete;
  readonly #deleteForgotten;
  readonly #sumUnfinished;

  constructor(db: Db, stores: AbsorbStores) {
    this.#queue = stores.queue;
    this.#content = stores.content;
    this.#errors = stores.errors;
    this.#held = stores.held;
    this.#tally = stores.tally;
    this.#insert = new QueueInserter(db);
    this.#earlier = new EarlierSets(db);
    this.#psetids = new Counter(db, 'psetid');
    this.#places = new Counter(db, 'pos');
    this.#selectSet = db.prepare<[string, string], SetState>(
      'SELECT * FROM absorbed WHERE uns = ? AND entry = ?',
    );
    // safeguard: memory of what was absorbed
    this.#insertSet = db.prepare(
      `INSERT INTO absorbed(rowsdone, complete, queued, duplicate, unchanged, deleted, files, space, psetid, uns, entry,
         pid, firstpos, lastpos, at, isfull) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#updateProgress = db.prepare(
      `UPDATE absorbed SET rowsdone = ?, complete = ?, queued = ?, duplicate = ?, unchanged = ?, deleted = ?, files = ?, space = ?
       WHERE psetid = ?`,
    );
    this.#selectWaiting = db.prepare<[number, string, string], { op: 0 | 1 }>(
      'SELECT op FROM qdb WHERE pid = ? AND curl = ? AND mimetype = ?',
    );
    this.#cancelRow = db.prepare<[number, number, string, string]>(CANCEL_ROW);
    this.#nameRow = db.prepare<[number, number, string, string, number]>(
      `UPDATE qdb SET named = ? WHERE pid = ? AND curl = ? AND mimetype = ? AND coalesce(named, psetid) < ?`,
    );
    this.#countInserted = db.prepare<[number, number], { rows: number; bytes: number }>(
      'SELECT count(*) AS rows, total(len) AS bytes FROM qdb WHERE pos BETWEEN ? AND ?',
    );
    this.#markComplete = db.prepare<[number]>('UPDATE absorbed SET complete = 1 WHERE psetid = ?');
    this.#sumUnfinished = db
      .prepare<[], number>('SELECT total(queued) FROM absorbed WHERE complete = 0')
      .pluck();
    this.#deleteForgotten = db.prepare<[string, number]>(
      'DELETE FROM absorbed WHERE uns = ? AND psetid < ? AND complete = 1',
    );
  }

  /** What is known of an entry; undefined when nothing is. */
  find(uns: string, entry: string): SetState | undefined {
    return this.#selectSet.get(uns, entry);
  }

  /** Gives a set its id and its places; `apply` must follow. Inside a transaction. */
  begin(head: OfferedSet): SetState {
    const psetid = this.#psetids.take();
    const firstpos = head.received > 0 ? this.#places.take(head.received) : 0;
    const lastpos = firstpos + head.received - 1;
    return {
      psetid,
      pid: head.pid,
      firstpos,
      lastpos,
      rowsdone: 0,
      complete: 0,
      queued: 0,
      duplicate: 0,
      unchanged: 0,
      deleted: 0,
      files: 0,
      space: 0,
      begun: { uns: head.uns, entry: head.entry, atS: head.atS, full: head.full },
    };
  }

  /** Applies the next urls of the set. Inside a transaction; `state` is moved on. */
  apply(
    state: SetState,
    { full, withheld, isLast }: SetKindRules,
    records: Iterable<UrlRecord>,
    reading: UrlReading,
    nowS: number,
  ): void {
    const { pid } = state;
    // safeguard: forgetting what was read ahead
    this.#queue.changed(pid);
    const use = this.#tally.use(pid);
    const earlier = use === undefined ? { files: 0, space: 0 } : this.#earlier.bound(state, use);
    const quota = new IntakeQuota(use, full, earlier, state);
    const slice: Slice = {
      state,
      full,
      withheld,
      nowS,
      summed: false,
      quota,
      enforced: use?.enforced ?? false,
      mark: state.firstpos + state.rowsdone,
      submitted: 0,
    };
    const holdsContent = (use?.filesused ?? 0) > 0;
    let pos = slice.mark;
    for (const record of records) {
      const url = queuedUrl(record, reading.resolve, reading.mtimeOf);
      if (isDelete(record)) {
        if (withheld) this.#held.note(state.psetid, url);
        else this.#delete(state, url, nowS);
      } else {
        if (withheld) this.#held.unnote(state.psetid, url);
        const held = holdsContent ? this.#content.find(pid, url.curl, url.mimetype) : undefined;
        this.#update(slice, pos, url, held);
      }
      pos++;
    }
    this.#settle(slice, pos);
    state.rowsdone = pos - state.firstpos;
    if (isLast) state.complete = 1;
    this.save(state);
  }

  /** Writes the state back. Inside a transaction. */
  save(state: SetState): void {
    const { begun } = state;
    const progress = [
      state.rowsdone,
      state.complete,
      state.queued,
      state.duplicate,
      state.unchanged,
      state.deleted,
      state.files,
      state.space,
      state.psetid,
    ];
    if (begun === undefined) {
      this.#updateProgress.run(progress);
    } else {
      const { uns, entry, atS, full } = begun;
      const { pid, firstpos, lastpos } = state;
      this.#insertSet.run(progress, uns, entry, pid, firstpos, lastpos, atS, full ? 1 : 0);
      state.begun = undefined;
    }
  }

  /** The set is whole: it will not be taken again. Inside a transaction. */
  complete(state: SetState): void {
    if (state.complete === 0) this.#markComplete.run(state.psetid);
    this.#earlier.complete(state, state);
  }

  /** Rows of sets that have begun and are not complete: they are not fetched. */
  unfinished(): number {
    return this.#sumUnfinished.get() ?? 0;
  }

  /** Forgets complete sets of a UNS that it cannot send again, its last thousands kept. Inside a transaction. */
  prune(uns: string, psetid: number): void {
    if (psetid % PRUNE_EVERY === 0) this.#deleteForgotten.run(uns, psetid - REMEMBERED_SETS);
  }

  /** Forgets what a transaction that was rolled back had pending. */
  reset(): void {
    this.#insert.reset();
    this.#earlier.reset();
  }

  #delete(state: SetState, url: QueuedUrl, nowS: number): void {
    if (this.#insert.mayHold(url)) this.#insert.flush();
    const stopped = this.#cancelRow.run(state.psetid, state.pid, url.curl, url.mimetype).changes;
    const held = this.#content.find(state.pid, url.curl, url.mimetype);
    if (held !== undefined) {
      this.#content.remove(state.pid, held, nowS);
      this.#earlier.removed(state.pid, held.len);
    }
    if (stopped > 0 || held !== undefined) state.deleted++;
    else state.unchanged++;
  }

  #update(slice: Slice, pos: number, url: QueuedUrl, held: Held | undefined): void {
    const { state, full, quota } = slice;
    const ifabsent = (url.flags & FLAG_IFABSENT) !== 0;
    if (ifabsent && this.#isWaiting(state.pid, url, true)) {
      // It is going to be fetched; a mere "if absent" does not change how, but that it was named.
      // safeguard: "if absent" naming what waits
      this.#nameRow.run(state.psetid, state.pid, url.curl, url.mimetype, state.psetid);
      if (held !== undefined) this.#content.stamp(held, state.psetid);
      state.duplicate++;
      return;
    }
    if (held !== undefined) {
      // safeguard: what waits being fetched although it looks unchanged
      const settled =
        ifabsent || (saysUnchanged(url, held, slice.enforced) && !this.#isWaiting(state.pid, url, false));
      if (settled) {
        state.unchanged++;
        if (ifabsent) this.#content.stamp(held, state.psetid);
        else this.#content.confirm(state.pid, held, url, state.psetid, slice.nowS);
        quota.keeps(held);
        return;
      }
      if (full) this.#content.stamp(held, state.psetid);
    }
    if (quota.refuses(url, held) !== undefined) {
      // Near the limit the sums must be exact, and a url that waits already is not counted again.
      this.#settle(slice, pos);
      this.#sumEarlier(slice);
      const code = this.#isWaiting(state.pid, url, false) ? undefined : quota.refuses(url, held);
      if (code !== undefined) {
        this.#errors.add(state.pid, recordOfRow(url), code, quota.textOf(code));
        if (held !== undefined) this.#content.stamp(held, state.psetid);
        return;
      }
    }
    quota.takes(url, held);
    this.#insert.add(pos, state.pid, state.psetid, url);
    slice.submitted++;
  }

  /** Once a slice at most: nothing but the set itself changes anything meanwhile. */
  #sumEarlier(slice: Slice): void {
    const { state, quota } = slice;
    const use = this.#tally.use(state.pid);
    if (use === undefined || slice.full || slice.summed) return;
    slice.summed = true;
    quota.rebase(this.#earlier.sum(state, use));
  }

  /** Writes what is pending and counts it: what made a row was queued, the rest waited already. */
  #settle(slice: Slice, end: number): void {
    this.#insert.flush();
    const made = this.#countInserted.get(slice.mark, end - 1) ?? { rows: 0, bytes: 0 };
    slice.quota.settle(made.rows, made.bytes);
    slice.state.queued += made.rows;
    slice.state.duplicate += slice.submitted - made.rows;
    this.#tally.waiting(slice.state.pid, made.rows);
    slice.mark = end;
    slice.submitted = 0;
  }

  #isWaiting(pid: number, url: QueuedUrl, toBeFetched: boolean): boolean {
    if (this.#insert.mayHold(url)) this.#insert.flush();
    const row = this.#selectWaiting.get(pid, url.curl, url.mimetype);
    return row !== undefined && (!toBeFetched || row.op === 1);
  }
}

/** The urls being applied: those before `mark` are counted, `submitted` since then. */
interface Slice {
  state: SetState;
  full: boolean;
  withheld: boolean;
  nowS: number;
  /** Whether what earlier sets need is no mere bound. */
  summed: boolean;
  quota: IntakeQuota;
  /** Whether its provider wants what is held to be what it said. */
  enforced: boolean;
  mark: number;
  submitted: number;
}
