/**
 * Removals that the fuse holds back (docs/design/queue-manager.md, "The fuse"): a row of `held` a set, and for a partial
 * one its deletes in `helddelete`.
 *
 *     (a partial set with many deletes) taking ──▶ few of them count: carried out with the set, forgotten
 *                                         │ ╰────▶ held ◀── (a full set that does not name much)
 *                                         ╰──the set is given up──▶ discarded
 *     held ──operator──▶ released ──slices──▶ forgotten
 *       │                   ╰──a later full set, the same set again──▶ discarded
 *       ╰──operator, a later full set, the same set again, nothing left to remove──▶ discarded ──slices──▶ forgotten
 *
 * What is released or discarded is so from one commit on; the slices that follow begin again wherever they were cut off.
 * All methods run inside the caller's transaction.
 */
import type { ContentStore } from '../cache/content.js';
import type { Db } from '../sqlite/open.js';
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

/** What a held set would still remove: rows of lccurl, and whether anything that only waits. */
export interface LeftOver {
  content: number;
  waits: boolean;
}

/** The states drawn above. Each statement that changes one names those which it may change. */
export type HeldState = 'taking' | 'held' | 'released' | 'discarded';

/** A held set whose fate is decided. */
export interface DecidedSet extends HeldSet {
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

export class HeldStore {
  readonly #queue: QueueReader;
  readonly #content: ContentStore;
  readonly #statements;

  constructor(db: Db, stores: { queue: QueueReader; content: ContentStore }) {
    this.#queue = stores.queue;
    this.#content = stores.content;
    this.#statements = {
      terms: db.prepare<[number], FuseTerms>(
        'SELECT fusepercent, fuseurls, filesused FROM pidb WHERE pid = ?',
      ),
      open: db.prepare<[number, number, string]>(
        `INSERT INTO held(psetid, pid, state, isfull, urls, digest, heldat) VALUES (?, ?, ${taking}, 0, 0, ?, 0)`,
      ),
      isOpen: db
        .prepare<[number], number>(`SELECT 1 FROM held WHERE psetid = ? AND state = ${taking}`)
        .pluck(),
      matches: db
        .prepare<[number, number, string], number>(
          `SELECT 1 FROM held WHERE pid = ? AND isfull = ? AND digest = ? AND state IN (${held}, ${released})`,
        )
        .pluck(),
      hold: db.prepare<[number, number, number, number, string, number]>(
        `INSERT INTO held(psetid, pid, state, isfull, urls, digest, heldat) VALUES (?, ?, ${held}, ?, ?, ?, ?)
         ON CONFLICT(psetid) DO UPDATE SET state = excluded.state, urls = excluded.urls, heldat = excluded.heldat
           WHERE state = ${taking}`,
      ),
      giveUp: db.prepare<[number, number]>(
        `UPDATE held SET state = ${discarded} WHERE psetid IN (SELECT psetid FROM held
           WHERE pid = ? AND state = ${held} ORDER BY psetid DESC LIMIT -1 OFFSET ?)`,
      ),
      abandon: db.prepare<[number]>(
        `UPDATE held SET state = ${discarded} WHERE psetid = ? AND state = ${taking}`,
      ),
      supersede: db.prepare<[number, number]>(
        `UPDATE held SET state = ${discarded} WHERE pid = ? AND psetid < ? AND state IN (${held}, ${released})`,
      ),
      confirm: db.prepare<[number, string]>(
        `UPDATE held SET state = ${discarded} WHERE pid = ? AND isfull = 0 AND digest = ?
           AND state IN (${held}, ${released})`,
      ),
      providers: db
        .prepare<{ pid: number | null }, number>(
          `SELECT count(DISTINCT pid) FROM held WHERE state = ${held} AND pid = coalesce($pid, pid)`,
        )
        .pluck(),
      decide: db.prepare<{ pid: number | null; state: number }>(
        `UPDATE held SET state = $state WHERE state = ${held} AND pid = coalesce($pid, pid)`,
      ),
      decided: db.prepare<[], HeldSet & { state: number }>(
        `SELECT psetid, pid, isfull, urls, digest, state FROM held WHERE state IN (${released}, ${discarded})
         ORDER BY psetid LIMIT 1`,
      ),
      next: db.prepare<[number], HeldSet>(
        `SELECT psetid, pid, isfull, urls, digest FROM held WHERE state = ${held} AND psetid > ?
         ORDER BY psetid LIMIT 1`,
      ),
      recount: db.prepare<[number, number]>(`UPDATE held SET urls = ? WHERE psetid = ? AND state = ${held}`),
      settle: db.prepare<[number]>(
        `UPDATE held SET state = ${discarded} WHERE psetid = ? AND state = ${held}`,
      ),
      waiting: db.prepare<[], { sets: number; urls: number; decided: number }>(
        `SELECT count(*) FILTER (WHERE state = ${held}) AS sets, total(urls) FILTER (WHERE state = ${held}) AS urls,
           count(*) FILTER (WHERE state IN (${released}, ${discarded})) AS decided FROM held`,
      ),
      note: db.prepare<[number, string, string]>('INSERT OR IGNORE INTO helddelete VALUES (?, ?, ?)'),
      unnote: db.prepare<[number, string, string]>(
        'DELETE FROM helddelete WHERE psetid = ? AND curl = ? AND mimetype = ?',
      ),
      page: db.prepare<[number, string, string, number], Key>(
        `SELECT curl, mimetype FROM helddelete WHERE psetid = ? AND (curl, mimetype) > (?, ?)
         ORDER BY curl, mimetype LIMIT ?`,
      ),
      row: db.prepare<[number, string, string], { op: 0 | 1; named: number }>(
        `SELECT op, coalesce(named, psetid) AS named FROM qdb WHERE pid = ? AND curl = ? AND mimetype = ?`,
      ),
      cancel: db.prepare<[number, number, string, string]>(CANCEL_ROW),
      forget: db.prepare<[number]>(`DELETE FROM held WHERE psetid = ? AND state <> ${held}`),
    };
  }

  /** Undefined for a provider that was removed. */
  terms(pid: number): FuseTerms | undefined {
    return this.#statements.terms.get(pid);
  }

  // While a set is taken

  /** The deletes of a partial set will be noted instead of carried out. */
  open(psetid: number, pid: number, digest: string): void {
    this.#statements.open.run(psetid, pid, digest);
  }

  isOpen(psetid: number): boolean {
    return this.#statements.isOpen.get(psetid) !== undefined;
  }

  /** Whether an identical set of the provider is held: sent again, it means what it says. */
  matches(pid: number, isFull: boolean, digest: string): boolean {
    return digest !== '' && this.#statements.matches.get(pid, isFull ? 1 : 0, digest) !== undefined;
  }

  note(psetid: number, { curl, mimetype }: Key): void {
    this.#statements.note.run(psetid, curl, mimetype);
  }

  /** The same set says otherwise further on. */
  unnote(psetid: number, { curl, mimetype }: Key): void {
    this.#statements.unnote.run(psetid, curl, mimetype);
  }

  /**
   * Looks at what was noted, a page a step: what would remove nothing is forgotten.
   * Yields how many pages of content would go, and how many urls were forgotten.
   */
  *sift(
    set: { psetid: number; pid: number },
    rows: () => number,
  ): Generator<{ content: number; idle: number }, void> {
    let after: Key = { curl: '', mimetype: '' };
    for (;;) {
      const limit = rows();
      const page = this.#statements.page.all(set.psetid, after.curl, after.mimetype, limit);
      const seen = { content: 0, idle: 0 };
      for (const key of page) {
        if (this.#content.find(set.pid, key.curl, key.mimetype) !== undefined) seen.content++;
        else if (this.#statements.row.get(set.pid, key.curl, key.mimetype)?.op !== 1) {
          this.unnote(set.psetid, key);
          seen.idle++;
        }
      }
      yield seen;
      after = page.at(-1) ?? after;
      if (page.length < limit) return;
    }
  }

  /** The set's removals wait for a decision. @returns whether older ones had to be given up for them */
  hold({ psetid, pid, isfull, urls, digest }: HeldSet, nowS: number): boolean {
    if (this.#statements.hold.run(psetid, pid, isfull, urls, digest, nowS).changes === 0)
      throw new Error(`set ${psetid}: its removals are held already, or decided on`);
    return this.#statements.giveUp.run(pid, MAX_HELD_SETS).changes > 0;
  }

  /** The set ends before its removals could be judged: its provider is asked for a full set instead. */
  abandon(psetid: number): void {
    this.#statements.abandon.run(psetid);
  }

  /** A full set was accepted: what older sets would have removed is settled by it. */
  supersede(pid: number, psetid: number): void {
    this.#statements.supersede.run(pid, psetid);
  }

  /** An identical partial set was carried out. */
  confirm(pid: number, digest: string): void {
    // There is none nearly always, and a look costs a tenth.
    if (this.matches(pid, false, digest)) this.#statements.confirm.run(pid, digest);
  }

  // Decisions

  /** Held sets, and the content they would remove; and how many have been decided on and are not yet done with. */
  waiting(): { sets: number; urls: number; decided: number } {
    return this.#statements.waiting.get() ?? { sets: 0, urls: 0, decided: 0 };
  }

  /** The first held set whose id is higher. */
  next(psetid: number): HeldSet | undefined {
    return this.#statements.next.get(psetid);
  }

  /** Looks at what was noted of a held set, a page a step: what later sets named would stay. Nothing is changed. */
  *left({ psetid, pid }: { psetid: number; pid: number }, rows: number): Generator<LeftOver, void> {
    let after: Key = { curl: '', mimetype: '' };
    for (let page: Key[] | undefined; page === undefined || page.length === rows;) {
      page = this.#statements.page.all(psetid, after.curl, after.mimetype, rows);
      const left = { content: 0, waits: false };
      for (const { curl, mimetype } of page) {
        const row = this.#statements.row.get(pid, curl, mimetype);
        const content = this.#content.find(pid, curl, mimetype);
        if ((row?.named ?? 0) > psetid || (content?.psetid ?? 0) > psetid) continue;
        if (content !== undefined) left.content++;
        else left.waits ||= row?.op === 1;
      }
      yield left;
      after = page.at(-1) ?? after;
    }
  }

  /** A held set would remove so much now; one that would remove nothing is given up. @returns whether it was */
  recount(psetid: number, { content, waits }: LeftOver): boolean {
    if (content === 0 && !waits) return this.#statements.settle.run(psetid).changes > 0;
    this.#statements.recount.run(content, psetid);
    return false;
  }

  /** Lets what is held be carried out, for one provider or for all. @returns of how many providers something was held */
  release(pid?: number): number {
    return this.#decide('released', pid);
  }

  /** Lets what is held be forgotten: the content stays. @returns as `release` */
  discard(pid?: number): number {
    return this.#decide('discarded', pid);
  }

  /** The oldest set that is released or discarded and not yet forgotten. */
  decided(): DecidedSet | undefined {
    const set = this.#statements.decided.get();
    return set && { ...set, state: set.state === released ? 'released' : 'discarded' };
  }

  /** Carries out what was noted, a page a step, but for what later sets named. Yields how many urls were removed. */
  *carryOut(
    set: { psetid: number; pid: number },
    rows: () => number,
    nowS: () => number,
  ): Generator<number, void> {
    const { psetid, pid } = set;
    for (;;) {
      const page = this.#statements.page.all(psetid, '', '', rows());
      if (page.length === 0) return;
      this.#queue.changed(pid);
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
      const page = this.#statements.page.all(psetid, '', '', rows());
      if (page.length === 0) return;
      for (const key of page) this.unnote(psetid, key);
      yield 0;
    }
  }

  /** Nothing is left of the set's removals. */
  forget(psetid: number): void {
    this.#statements.forget.run(psetid);
  }

  #remove(psetid: number, pid: number, key: Key, nowS: number): boolean {
    const row = this.#statements.row.get(pid, key.curl, key.mimetype);
    const content = this.#content.find(pid, key.curl, key.mimetype);
    if ((row?.named ?? 0) > psetid || (content?.psetid ?? 0) > psetid) return false;
    const stopped = this.#statements.cancel.run(psetid, pid, key.curl, key.mimetype).changes > 0;
    if (content !== undefined) this.#content.remove(pid, content, nowS);
    return stopped || content !== undefined;
  }

  #decide(state: DecidedSet['state'], pid: number | undefined): number {
    const of = { pid: pid ?? null };
    const providers = this.#statements.providers.get(of) ?? 0;
    if (providers > 0) this.#statements.decide.run({ ...of, state: HELD_STATE[state] });
    return providers;
  }
}
