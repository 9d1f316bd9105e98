/**
 * Removals that the fuse holds back (docs/design/queue-manager.md, "The fuse"): a row of `held` a set, and
 * for a partial one its deletes in `helddelete`.
 *
 *  (a partial set with many deletes) taking ──▶ few of them count: carried out with the set, forgotten
 *                                      │ ╰────▶ held ◀── (a full set that does not name much)
 *                                      ╰──the set is given up──▶ discarded
 *  held ──operator──▶ released ──slices──▶ forgotten
 *    │                   ╰──a later full set, the same set again──▶ discarded
 *    ╰──operator, a later full set, the same again, nothing left──▶ discarded ──slices──▶ forgotten
 *
 * What is released or discarded is so from one commit on; the slices that follow begin again wherever they
 * were cut off. All methods run inside the caller's transaction.
 */
import type { ContentStore } from '../cache/content.js';
import type { FailureStore } from '../cache/failures.js';
import { STAYS } from '../moves/moving.js';
import { pagesAfter } from '../sqlite/paging.js';
import { JointStore } from '../sqlite/sql-store.js';
import type { UrlKey } from './folders.js';
import { CANCEL_ROW } from './row.js';
import type { QueueReader } from './sets.js';

export interface HeldSet {
  psetid: number;
  pid: number;
  isfull: 0 | 1;
  /** Rows of lccurl that it would remove, as they were counted last. */
  urls: number;
  digest: string;
}

/** The rest of a held set: rows of lccurl that it would remove, and whether anything that only waits. */
export interface LeftOver {
  content: number;
  waits: boolean;
}

/** The states drawn above. Each statement that changes one names those which it may change. */
type HeldState = 'taking' | 'held' | 'released' | 'discarded';

/** A held set whose fate is decided. */
interface DecidedSet extends HeldSet {
  state: 'released' | 'discarded';
}

/** A provider's fuse and what it is measured against; null where the provider has none of its own. */
export interface FuseTerms {
  fusepercent: number | null;
  fuseurls: number | null;
  filesused: number;
}

interface Key {
  curl: string;
  mimetype: string;
}
const FIRST: Key = { curl: '', mimetype: '' };

/** `held.state`. */
export const HELD_STATE: Readonly<Record<HeldState, number>> = {
  taking: 0,
  held: 1,
  released: 2,
  discarded: 3,
};
const { taking, held, released, discarded } = HELD_STATE;

/** Sets of one provider held at a time; before a further one the oldest is given up. */
export const MAX_HELD_SETS = 16;

interface RemovingStores {
  queue: QueueReader;
  content: ContentStore;
  failures: FailureStore;
}

export class HeldStore extends JointStore<RemovingStores> {
  readonly #matches = this.sql.has<[pid: number, isfull: number, digest: string]>(
    `SELECT 1 FROM held WHERE pid = ? AND isfull = ? AND digest = ? AND state IN (${held}, ${released})`,
  );
  readonly #hold = this.sql.changed<[set: HeldSet, nowS: number]>(
    `INSERT INTO held(psetid, pid, state, isfull, urls, digest, heldat)
     VALUES ($psetid, $pid, ${held}, $isfull, $urls, $digest, ?)
     ON CONFLICT(psetid) DO UPDATE SET state = excluded.state, urls = excluded.urls, heldat = excluded.heldat
       WHERE state = ${taking}`,
  );
  readonly #giveUp = this.sql.changed<[pid: number, kept: number]>(
    `UPDATE held SET state = ${discarded} WHERE psetid IN (SELECT psetid FROM held
       WHERE pid = ? AND state = ${held} ORDER BY psetid DESC LIMIT -1 OFFSET ?)`,
  );
  readonly #confirm = this.sql.run<[pid: number, digest: string]>(
    `UPDATE held SET state = ${discarded} WHERE pid = ? AND isfull = 0 AND digest = ?
       AND state IN (${held}, ${released})`,
  );
  readonly #providers = this.sql.number<[of: { pid: number | null }]>(
    `SELECT count(DISTINCT pid) FROM held WHERE state = ${held} AND pid = coalesce($pid, pid)`,
  );
  readonly #decideAll = this.sql.run<[values: { pid: number | null; state: number }]>(
    `UPDATE held SET state = $state WHERE state = ${held} AND pid = coalesce($pid, pid)`,
  );
  readonly #decided = this.sql.row<[], HeldSet & { state: number }>(
    `SELECT psetid, pid, isfull, urls, digest, state FROM held WHERE state IN (${released}, ${discarded})
       AND ${STAYS} ORDER BY psetid LIMIT 1`,
  );
  readonly #recount = this.sql.run<[content: number, psetid: number]>(
    `UPDATE held SET urls = ? WHERE psetid = ? AND state = ${held} AND ${STAYS}`,
  );
  readonly #settle = this.sql.changed<[psetid: number]>(
    `UPDATE held SET state = ${discarded} WHERE psetid = ? AND state = ${held} AND ${STAYS}`,
  );
  readonly #page = this.sql.rows<[psetid: number, after: Key, limit: number], Key>(
    `SELECT curl, mimetype FROM helddelete WHERE psetid = ? AND (curl, mimetype) > ($curl, $mimetype)
     ORDER BY curl, mimetype LIMIT ?`,
  );
  readonly #cancel = this.sql.changed<[psetid: number, ...url: UrlKey]>(CANCEL_ROW);

  /** Undefined for a provider that was removed. */
  readonly terms = this.sql.row<[pid: number], FuseTerms>(
    'SELECT fusepercent, fuseurls, filesused FROM pidb WHERE pid = ?',
  );

  // While a set is taken

  /** The deletes of a partial set will be noted instead of carried out. */
  readonly open = this.sql.run<[psetid: number, pid: number, digest: string]>(
    `INSERT INTO held(psetid, pid, state, isfull, urls, digest, heldat) VALUES (?, ?, ${taking}, 0, 0, ?, 0)`,
  );

  readonly isOpen = this.sql.has<[psetid: number]>(
    `SELECT 1 FROM held WHERE psetid = ? AND state = ${taking}`,
  );

  /** True if an identical set of the provider is held: sent again, it means what it says. */
  matches(pid: number, isFull: boolean, digest: string): boolean {
    return digest !== '' && this.#matches(pid, isFull ? 1 : 0, digest);
  }

  readonly note = this.sql.run<[psetid: number, url: Key]>(
    'INSERT OR IGNORE INTO helddelete VALUES (?, $curl, $mimetype)',
  );

  /** The same set says otherwise further on. */
  readonly unnote = this.sql.run<[psetid: number, url: Key]>(
    'DELETE FROM helddelete WHERE psetid = ? AND curl = $curl AND mimetype = $mimetype',
  );

  /**
   * Looks at what was noted, a page a step: what would remove nothing is forgotten.
   * Yields how many pages of content would go, and how many urls were forgotten.
   */
  *sift(
    set: { psetid: number; pid: number },
    rows: () => number,
  ): Generator<{ content: number; idle: number }, void> {
    for (const page of this.#pages(set.psetid, rows)) {
      const seen = { content: 0, idle: 0 };
      for (const key of page) {
        if (this.stores.content.find(set.pid, key.curl, key.mimetype) !== undefined) seen.content++;
        else if (this.stores.queue.waiting(set.pid, key.curl, key.mimetype)?.op !== 1) {
          this.stores.failures.forget(set.pid, key);
          this.unnote(set.psetid, key);
          seen.idle++;
        }
      }
      yield seen;
    }
  }

  /** The set's removals wait for a decision. @returns whether older ones had to be given up for them */
  hold(set: HeldSet, nowS: number): boolean {
    if (!this.#hold(set, nowS))
      throw new Error(`set ${set.psetid}: its removals are held already, or decided on`);
    return this.#giveUp(set.pid, MAX_HELD_SETS);
  }

  /** The set ends before its removals could be judged: its provider is asked for a full set instead. */
  readonly abandon = this.sql.run<[psetid: number]>(
    `UPDATE held SET state = ${discarded} WHERE psetid = ? AND state = ${taking}`,
  );

  /** A full set was accepted: what older sets would have removed is settled by it. */
  readonly supersede = this.sql.run<[pid: number, psetid: number]>(
    `UPDATE held SET state = ${discarded} WHERE pid = ? AND psetid < ? AND state IN (${held}, ${released})`,
  );

  /** An identical partial set was carried out. */
  confirm(pid: number, digest: string): void {
    // There is none nearly always, and a look costs a tenth.
    if (this.matches(pid, false, digest)) this.#confirm(pid, digest);
  }

  // Decisions

  /** Held sets, and the content they would remove; and how many have been decided on and are not yet done
   * with. */
  readonly waiting = this.sql.one<[], { sets: number; urls: number; decided: number }>(
    `SELECT count(*) FILTER (WHERE state = ${held}) AS sets, total(urls) FILTER (WHERE state = ${held}) AS urls,
       count(*) FILTER (WHERE state IN (${released}, ${discarded})) AS decided FROM held`,
  );

  /** The first held set whose id is higher. */
  readonly next = this.sql.row<[psetid: number], HeldSet>(
    `SELECT psetid, pid, isfull, urls, digest FROM held WHERE state = ${held} AND psetid > ?
     AND ${STAYS} ORDER BY psetid LIMIT 1`,
  );

  /** Looks at what was noted of a held set, a page a step: what later sets named would stay. Nothing is
   * changed. */
  *left({ psetid, pid }: { psetid: number; pid: number }, rows: number): Generator<LeftOver, void> {
    for (const page of this.#pages(psetid, () => rows)) {
      const left = { content: 0, waits: false };
      for (const { curl, mimetype } of page) {
        const row = this.stores.queue.waiting(pid, curl, mimetype);
        const content = this.stores.content.find(pid, curl, mimetype);
        if ((row?.named ?? 0) > psetid || (content?.psetid ?? 0) > psetid) continue;
        if (content !== undefined) left.content++;
        else left.waits ||= row?.op === 1;
      }
      yield left;
    }
  }

  /**
   * A held set would remove so much now; one that would remove nothing is given up. @returns whether it was
   */
  recount(psetid: number, { content, waits }: LeftOver): boolean {
    if (content === 0 && !waits) return this.#settle(psetid);
    this.#recount(content, psetid);
    return false;
  }

  /** Lets what is held be carried out, for one provider or for all. @returns of how many providers something
   * was held */
  release(pid?: number): number {
    return this.#decide('released', pid);
  }

  /** Lets what is held be forgotten: the content stays. @returns as `release` */
  discard(pid?: number): number {
    return this.#decide('discarded', pid);
  }

  /** The oldest set that is released or discarded and not yet forgotten. */
  decided(): DecidedSet | undefined {
    const set = this.#decided();
    return set && { ...set, state: set.state === released ? 'released' : 'discarded' };
  }

  /** Carries out what was noted, a page a step, but for what later sets named. Yields how many urls were
   * removed. */
  *carryOut(
    set: { psetid: number; pid: number },
    rows: () => number,
    nowS: () => number,
  ): Generator<number, void> {
    const { psetid, pid } = set;
    for (;;) {
      const page = this.#page(psetid, FIRST, rows());
      if (page.length === 0) return;
      this.stores.queue.changed(pid);
      let removed = 0;
      for (const key of page) {
        if (this.#remove(psetid, pid, key, nowS())) removed++;
        this.unnote(psetid, key);
      }
      yield removed;
    }
  }

  /** Forgets what was noted, a page a step. */
  *drop(psetid: number, rows: () => number): Generator<number, void> {
    for (;;) {
      const page = this.#page(psetid, FIRST, rows());
      if (page.length === 0) return;
      for (const key of page) this.unnote(psetid, key);
      yield 0;
    }
  }

  /** Nothing is left of the set's removals. */
  readonly forget = this.sql.run<[psetid: number]>(`DELETE FROM held WHERE psetid = ? AND state <> ${held}`);

  #pages(psetid: number, rows: () => number): Generator<Key[], void> {
    return pagesAfter((after: Key, limit) => this.#page(psetid, after, limit), FIRST, rows);
  }

  #remove(psetid: number, pid: number, key: Key, nowS: number): boolean {
    const row = this.stores.queue.waiting(pid, key.curl, key.mimetype);
    const content = this.stores.content.find(pid, key.curl, key.mimetype);
    if ((row?.named ?? 0) > psetid || (content?.psetid ?? 0) > psetid) return false;
    const stopped = this.#cancel(psetid, pid, key.curl, key.mimetype);
    this.stores.failures.forget(pid, key, psetid);
    if (content !== undefined) this.stores.content.remove(pid, content, nowS);
    return stopped || content !== undefined;
  }

  #decide(state: DecidedSet['state'], pid: number | undefined): number {
    const of = { pid: pid ?? null };
    const providers = this.#providers(of);
    if (providers > 0) this.#decideAll({ ...of, state: HELD_STATE[state] });
    return providers;
  }
}
