/**
 * Absorbing provider sets (semantics.md, rules 1 to 5, 12, 14).
 *
 * A set moves through: unknown → (first slice) begun → (last slice) named whole → (a full set: reconciled) →
 * complete. Each arrow is made of transactions that leave the database as if the set ended there:
 * `absorbed.rowsdone` says how many of its urls are applied, and a set sent again goes on after them. What
 * shows before a set is complete: urls that already waited have its attributes, deletions are done, its new
 * urls have rows; a large set has its entry in qpsdb from its first row on and is fetched, others are not,
 * for a set that fits into few slices is complete before a fetch would end. That is safe because a set
 * reaches the Queue Manager only after its provider was told `set_accepted`: its rest will come. What a full
 * set does not name is removed only after its last url was read, and so are the deletes of a partial set with
 * more of them than the fuse lets pass unseen (held-removals.ts).
 */
import { codeText, OUTSIDE_ROOTS } from '../../wire/codes.js';
import { LINKS } from '../../wire/origin.js';
import { AS_SERVED, isDelete, type UrlRecord } from '../../wire/url.js';
import { JointStore } from '../sqlite/sql-store.js';
import type { AuditSamples } from '../truth/audits.js';
import { saysUnchanged } from '../cache/as-announced.js';
import type { ContentStore, Held } from '../cache/content.js';
import type { ErrorStore } from '../cache/errors.js';
import type { FailureStore } from '../cache/failures.js';
import type { Tally } from '../cache/tally.js';
import { Counter } from '../sqlite/counters.js';
import { AbsorbedSets, type SetState } from './absorbed.js';
import { placeOf, type UrlKey } from './folders.js';
import type { HeldStore } from './held-removals.js';
import { FurtherSets } from './further-sets.js';
import { QueueInserter } from './insert.js';
import type { OfferedSet, SetKindRules, AppliedSlice } from './offered-set.js';
import { PushedUrls, type PushedRow } from './pushed-urls.js';
import { EarlierSets, IntakeQuota } from './quota.js';
import type { AbsentPagesStore } from './absent-pages.js';
import {
  CANCEL_ROW,
  claimOf,
  FLAG_AUDIT,
  FLAG_IFABSENT,
  FLAG_LINKS,
  FLAG_OF_CLASS,
  FLAG_PUSH,
  FLAG_SLOW,
  isNeedless,
  queuedUrl,
  recordOfRow,
  UNASKED,
  type QueuedUrl,
} from './row.js';
import type { QueueReader, WaitingSet } from './sets.js';
import { removeUnwanted } from './unwanted-pages.js';

interface AbsorbStores {
  queue: QueueReader;
  tally: Tally;
  content: ContentStore;
  errors: ErrorStore;
  failures: FailureStore;
  held: HeldStore;
  known: AbsentPagesStore;
  audits: AuditSamples;
}

export class AbsorbWriter extends JointStore<AbsorbStores> {
  readonly #insert = new QueueInserter(this.db);
  readonly #pushes = new PushedUrls(this.db, this.stores);
  readonly #further = new FurtherSets(this.db, { ...this.stores, insert: this.#insert });
  readonly #earlier = new EarlierSets(this.db);
  readonly sets = new AbsorbedSets(this.db);
  readonly #psetids = new Counter(this.db, 'psetid');
  readonly #places = new Counter(this.db, 'pos');
  readonly #cancelRow = this.sql.changes<[psetid: number, ...url: UrlKey]>(CANCEL_ROW);
  readonly #nameRow = this.sql.run<[psetid: number, ...url: UrlKey, below: number]>(
    `UPDATE queued SET named = ? WHERE pos = ${placeOf()} AND coalesce(named, psetid) < ?`,
  );
  readonly #countInserted = this.sql.one<
    [firstpos: number, lastpos: number],
    { rows: number; bytes: number }
  >('SELECT count(*) AS rows, total(len) AS bytes FROM queued WHERE pos BETWEEN ? AND ?');

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

  /** Applies the next urls of the set. Inside a transaction; `state` is moved on. @returns a set beside it,
   * which is complete */
  apply(
    state: SetState,
    { full, withheld, isLast, class: setClass, flags = 0, isInside }: SetKindRules,
    records: Iterable<UrlRecord>,
    urlprefix: string,
    nowS: number,
  ): WaitingSet | undefined {
    const { pid } = state;
    // safeguard: forgetting what was read ahead
    this.stores.queue.changed(pid);
    const use = this.stores.tally.use(pid);
    const ends = setClass === 0 && this.stores.known.hasAny(pid);
    const isWatched = setClass === 0 && this.stores.audits.watches(pid);
    const earlier = use === undefined ? { files: 0, space: 0 } : this.#earlier.bound(state, use);
    const quota = new IntakeQuota(use, full, earlier, state);
    const slice: AppliedSlice = {
      state,
      full,
      nowS,
      summed: false,
      isUnasked: setClass !== 0,
      quota,
      enforced: use?.enforced ?? false,
      mark: state.firstpos + state.rowsdone,
      submitted: 0,
      views: new Map(),
    };
    const holdsContent = (use?.filesused ?? 0) > 0;
    let pos = slice.mark;
    for (const record of records) {
      const url = queuedUrl(record, urlprefix, FLAG_OF_CLASS[setClass] | flags);
      const isOutside = isInside?.(url.furl ?? url.curl) === false;
      if (isWatched) this.stores.audits.noticed(pid, url.curl, nowS);
      if (setClass !== 0) {
        if (isOutside) state.unchanged++;
        else if (!isDelete(record)) this.#found(slice, pos, url);
        else if (setClass === LINKS && this.#unwanted(slice, url)) state.deleted++;
        else state.unchanged++;
      } else if (isOutside && !isDelete(record)) {
        this.stores.errors.add(pid, recordOfRow(url), OUTSIDE_ROOTS, codeText(OUTSIDE_ROOTS), state.psetid);
      } else if (isDelete(record)) {
        if (withheld) this.stores.held.note(state.psetid, url);
        else {
          slice.views.delete(keyOf(url));
          this.#delete(state, url, nowS);
        }
      } else {
        if (withheld) this.stores.held.unnote(state.psetid, url);
        // The owner's word ends what is known.
        if (ends) this.stores.known.forget(pid, url.curl);
        const held = holdsContent ? this.#heldOf(pid, url) : undefined;
        const views = holdsContent && held === undefined ? this.#pushes.viewsOf(pid, url) : [];
        const [first, ...others] = views;
        this.#update(slice, pos, first?.url ?? url, first?.held ?? held);
        for (const view of others) this.#view(slice, view);
      }
      pos++;
    }
    this.#settle(slice, pos);
    state.rowsdone = pos - state.firstpos;
    if (isLast) state.complete = 1;
    this.sets.save(state);
    return this.#further.make(pid, [...slice.views.values()], setClass);
  }

  /** The set is whole: it will not be taken again. Inside a transaction. */
  complete(state: SetState): void {
    this.sets.complete(state);
    this.#earlier.complete(state, state);
  }

  /** Forgets what a transaction that was rolled back had pending. */
  reset(): void {
    this.#insert.reset();
    this.#earlier.reset();
  }

  /** A provider came from another home, or stays: memory of it is of before. */
  moved(pid: number): void {
    this.#earlier.forget(pid);
  }

  #delete(state: SetState, url: QueuedUrl, nowS: number): void {
    if (this.#insert.mayHold(url)) this.#insert.flush();
    const stopped = this.#cancelRow(state.psetid, state.pid, url.curl, url.mimetype);
    this.stores.failures.forget(state.pid, url);
    const held = this.stores.content.find(state.pid, url.curl, url.mimetype);
    if (held !== undefined) {
      this.stores.content.remove(state.pid, held, nowS);
      this.#earlier.removed(state.pid, held.len);
    }
    if (stopped > 0 || held !== undefined) state.deleted++;
    else state.unchanged++;
  }

  #unwanted({ state: { pid }, nowS }: AppliedSlice, url: QueuedUrl): boolean {
    const removed = removeUnwanted(this.stores, pid, url, nowS);
    if (removed !== undefined) this.#earlier.removed(pid, removed.len);
    return removed !== undefined;
  }

  /** The content held of a url; if absent, one as served is there when any row of its page is. */
  #heldOf(pid: number, url: QueuedUrl): Held | undefined {
    const held = this.stores.content.find(pid, url.curl, url.mimetype);
    if (held !== undefined || url.mimetype !== AS_SERVED || (url.flags & FLAG_IFABSENT) === 0) return held;
    return this.stores.content.findAny(pid, url.curl);
  }

  /** A url that its owner did not announce. */
  #found(slice: AppliedSlice, pos: number, url: QueuedUrl): void {
    if ((url.flags & FLAG_PUSH) === 0) return this.#unasked(slice, pos, url);
    if (this.#insert.mayHold(url)) this.#settle(slice, pos);
    const { state, quota } = slice;
    const [first, ...others] = this.#pushes
      .rowsOf(state.pid, url)
      .filter(row => !slice.views.has(keyOf(row.url)));
    if (first === undefined) {
      state.duplicate++;
      return;
    }
    const { url: row, held } = first;
    if (held === undefined && (this.#isOver(slice, pos, row, held) || !this.#pushes.hasRoom(state.pid))) {
      state.unchanged++;
      return;
    }
    quota.takes(row, held);
    this.#insert.add(pos, state.pid, state.psetid, row);
    slice.submitted++;
    for (const other of others) slice.views.set(keyOf(other.url), other.url);
  }

  /** A further row of a page that its owner announces as served: as `#update`, but for its place. */
  #view({ state: { pid, psetid }, full, quota, views }: AppliedSlice, { url, held }: PushedRow): void {
    if (full && held !== undefined) {
      this.stores.content.stamp(held, psetid);
      quota.keeps(held);
    }
    const waiting = this.#waiting(pid, url);
    if (waiting !== undefined && (waiting.flags & UNASKED) === 0) {
      this.#insert.again(pid, psetid, url);
      return;
    }
    if (waiting !== undefined) this.stores.queue.drop({ pos: waiting.pos, pid });
    views.set(keyOf(url), url);
  }

  /** A url that nobody announced: it changes nothing of what waits or is held, and nobody hears of it when
   * there is no room. What a delete left in the queue is not waiting any more. */
  #unasked(slice: AppliedSlice, pos: number, url: QueuedUrl): void {
    const { state, quota } = slice;
    const { pid } = state;
    // A url that a person gives.
    if (url.hops === 0 && (url.flags & FLAG_LINKS) !== 0) this.stores.known.askAgain(pid, url.curl);
    if (this.#insert.mayHold(url)) this.#settle(slice, pos);
    const waiting = this.stores.queue.waiting(pid, url.curl, url.mimetype);
    if (waiting?.op === 1 && (waiting.flags & FLAG_SLOW) === 0) {
      state.duplicate++;
      return;
    }
    const held = this.#heldOf(pid, url);
    if (
      isNeedless(
        url,
        held,
        () =>
          this.stores.queue.isAnnounced(pid, url.curl) ||
          this.stores.known.isKnown(pid, url.curl, slice.nowS),
      ) ||
      this.#isOver(slice, pos, url, held)
    ) {
      state.unchanged++;
      return;
    }
    if (waiting !== undefined) this.stores.queue.drop({ pos: waiting.pos, pid });
    quota.takes(url, held);
    this.#insert.add(pos, pid, state.psetid, url);
    if ((url.flags & FLAG_AUDIT) !== 0 && held?.hops === null)
      this.stores.audits.drawn(pid, held, slice.nowS);
    slice.submitted++;
  }

  /** True if it would break the quota. */
  #isOver(slice: AppliedSlice, pos: number, url: QueuedUrl, held: Held | undefined): boolean {
    if (slice.quota.refuses(url, held) === undefined) return false;
    this.#settle(slice, pos);
    this.#sumEarlier(slice);
    return slice.quota.refuses(url, held) !== undefined;
  }

  #update(slice: AppliedSlice, pos: number, url: QueuedUrl, held: Held | undefined): void {
    const { state, full, quota } = slice;
    const ifabsent = (url.flags & FLAG_IFABSENT) !== 0;
    if (ifabsent && this.#isWaiting(slice, url, true)) {
      // The url is going to be fetched; a mere "if absent" does not change how, but that it was named.
      // safeguard: "if absent" naming what waits
      this.#nameRow(state.psetid, state.pid, url.curl, url.mimetype, state.psetid);
      if (held !== undefined) this.stores.content.stamp(held, state.psetid);
      state.duplicate++;
      return;
    }
    if (held !== undefined) {
      // safeguard: what waits being fetched although it looks unchanged
      const settled =
        ifabsent || (saysUnchanged(url, held, slice.enforced) && !this.#isWaiting(slice, url, false));
      if (settled) {
        state.unchanged++;
        if (ifabsent) this.stores.content.stamp(held, state.psetid);
        else
          this.stores.content.confirm(
            state.pid,
            held,
            url,
            state.psetid,
            slice.nowS,
            undefined,
            claimOf(url, held),
          );
        quota.keeps(held);
        return;
      }
      if (full) this.stores.content.stamp(held, state.psetid);
    }
    if (quota.refuses(url, held) !== undefined) {
      // Near the limit the sums must be exact, and a url that waits already is not counted again.
      this.#settle(slice, pos);
      this.#sumEarlier(slice);
      const code = this.#isWaiting(slice, url, false) ? undefined : quota.refuses(url, held);
      if (code !== undefined) {
        this.stores.errors.add(state.pid, recordOfRow(url), code, quota.textOf(code), state.psetid);
        if (held !== undefined) this.stores.content.stamp(held, state.psetid);
        return;
      }
    }
    quota.takes(url, held);
    if (slice.views.size > 0) slice.views.delete(keyOf(url));
    this.#insert.add(pos, state.pid, state.psetid, url);
    slice.submitted++;
  }

  /** Once a slice at most: nothing but the set itself changes anything meanwhile. */
  #sumEarlier(slice: AppliedSlice): void {
    const { state, quota } = slice;
    const use = this.stores.tally.use(state.pid);
    if (use === undefined || slice.full || slice.summed) return;
    slice.summed = true;
    quota.rebase(this.#earlier.sum(state, use, slice.isUnasked));
  }

  /** Writes what is pending and counts it: what made a row was queued, the rest waited already. */
  #settle(slice: AppliedSlice, end: number): void {
    this.#insert.flush();
    const made = this.#countInserted(slice.mark, end - 1);
    slice.quota.settle(made.rows, made.bytes);
    slice.state.queued += made.rows;
    slice.state.duplicate += slice.submitted - made.rows;
    this.stores.tally.waiting(slice.state.pid, made.rows - this.#insert.countTakenOver());
    slice.mark = end;
    slice.submitted = 0;
  }

  /** The row of a url in the queue, which may have been put there by this slice. */
  #waiting(pid: number, url: QueuedUrl): ReturnType<QueueReader['waiting']> {
    if (this.#insert.mayHold(url)) this.#insert.flush();
    return this.stores.queue.waiting(pid, url.curl, url.mimetype);
  }

  /** True if it waits in its owner's name. */
  #isWaiting({ state: { pid }, views }: AppliedSlice, url: QueuedUrl, toBeFetched: boolean): boolean {
    if (views.size > 0 && views.has(keyOf(url))) return true;
    const row = this.#waiting(pid, url);
    return row !== undefined && (row.flags & UNASKED) === 0 && (!toBeFetched || row.op === 1);
  }
}

function keyOf({ mimetype, curl }: QueuedUrl): string {
  return `${mimetype} ${curl}`;
}
