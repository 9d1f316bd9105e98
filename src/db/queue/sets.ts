/** Reading the queue in its order: sets of a provider one after the other, places within a set, bad urls
 * last. */
import { beforeFirst } from '../../config/shards.js';
import type { Tally } from '../cache/tally.js';
import { Counter } from '../sqlite/counters.js';
import type { Db } from '../sqlite/open.js';
import { AS_SERVED } from '../../wire/url.js';
import { ofRank, type SetClass } from '../../wire/origin.js';
import { LARGE_SET_URLS } from '../../wire/uns-qm.js';
import { AT_MOST } from '../sqlite/paging.js';
import { SqlStore } from '../sqlite/sql-store.js';
import { placeOf, placesOf, QueueFolders, type UrlKey } from './folders.js';
import { ReadAhead } from './read-ahead.js';
import {
  CLASS_OF_ROW,
  queueRow,
  ROW_COLUMNS,
  SELECT_WAITING,
  UNASKED,
  waitingRow,
  type QueueRow,
  type RawWaiting,
  type WaitingRow,
} from './row.js';

/** STARTTIMESLOT of what is fetched as soon as its provider's hours permit. */
export const NOW_SLOT = -1;

/** The part of a set that is fetched in one time slot: a row of qpsdb. */
export interface WaitingSet {
  psetid: number;
  /** STARTTIMESLOT: NOW_SLOT, or the slot that it waits for. */
  slot: number;
  pid: number;
  firstpos: number;
  lastpos: number;
  /** 0: its owner announced it. */
  class: SetClass;
}

/** True if other sets make its provider yield, and its urls are fetched while it is taken. By the places it
 * was given: it may have fewer rows by now. */
export function isLarge({ firstpos, lastpos }: Pick<WaitingSet, 'firstpos' | 'lastpos'>): boolean {
  return lastpos - firstpos >= LARGE_SET_URLS;
}

export const SET_COLUMNS = 'psetid, starttimeslot AS slot, pid, firstpos, lastpos, class';

export class QueueReader extends SqlStore {
  // safeguard: the order of sets
  readonly #selectSets = this.sql.rows<
    [pid: number, urgency: number, psetid: number, limit: number],
    WaitingSet
  >(
    `SELECT ${SET_COLUMNS} FROM qpsdb WHERE starttimeslot = ${NOW_SLOT} AND pid = ? AND (class, psetid) > (?, ?)
     ORDER BY class, psetid ${AT_MOST}`,
  );
  readonly #countSetsAfter = this.sql.number<[pid: number, urgency: number, psetid: number, most: number]>(
    `SELECT count(*) FROM (SELECT 1 FROM qpsdb
       WHERE starttimeslot = ${NOW_SLOT} AND pid = ? AND (class, psetid) > (?, ?) ${AT_MOST})`,
  );
  readonly #nextProvider = this.sql.value<[pid: number], number>(
    `SELECT min(pid) FROM qpsdb WHERE starttimeslot = ${NOW_SLOT} AND pid > ?`,
  );
  // safeguard: the order within a set
  // safeguard: failed urls going to the end of their set
  readonly #selectNext = this.db
    .prepare<[number, number, number, number], RawWaiting>(
      `${SELECT_WAITING} WHERE pos > ? AND pos <= ? AND slot = ? AND tries = 0 ORDER BY pos ${AT_MOST}`,
    )
    .raw();
  readonly #selectWaiting = this.db.prepare<[number], RawWaiting>(`${SELECT_WAITING} WHERE pos = ?`).raw();
  // The index has rows that failed only: without saying that these did, all of the queue would be read.
  readonly #selectBad = this.db
    .prepare<[number, number, number, number], RawWaiting>(
      `${SELECT_WAITING} WHERE qdb.psetid = ? AND tries = ? AND tries > 0 AND slot = ${NOW_SLOT} AND pos > ?
     ORDER BY pos ${AT_MOST}`,
    )
    .raw();
  readonly #insertSet = this.sql.run<[set: WaitingSet, absorbedat: number]>(
    // Parts of a set have its age.
    `INSERT OR IGNORE INTO qpsdb(psetid, starttimeslot, pid, firstpos, lastpos, class, absorbedat)
     VALUES ($psetid, $slot, $pid, $firstpos, $lastpos, $class,
       coalesce((SELECT max(absorbedat) FROM qpsdb WHERE psetid = $psetid), ?))`,
  );
  readonly #deleteRow = this.sql.changed<[pos: number]>('DELETE FROM queued WHERE pos = ?');
  readonly #renameRow = this.sql.run<
    [folderid: number, name: string, furl: string | null, flags: number, pos: number]
  >(
    `UPDATE queued SET folderid = ?, name = ?, furl = ?, flags = ?, gen = gen + 1, tries = 0, subtype = NULL, burl = NULL,
       md5 = NULL, len = NULL, mtime = NULL WHERE pos = ?`,
  );
  readonly #folders = new QueueFolders(this.db);
  readonly #tally: Tally;
  readonly #nowS: () => number;
  /** The number before the first of a set of this home. */
  readonly #before: number;
  readonly #ahead: ReadAhead<WaitingSet, WaitingRow>;

  /** @param nowS wall clock, for the age of sets */
  constructor(db: Db, tally: Tally, nowS: () => number) {
    super(db);
    this.#tally = tally;
    this.#nowS = nowS;
    this.#before = beforeFirst(new Counter(db, 'psetid').last());
    this.#ahead = new ReadAhead((set, afterPos, limit) =>
      this.#selectNext.all(afterPos, set.lastpos, set.slot, limit).map(waitingRow),
    );
  }

  /** The provider's next sets after one (`rankOf`) that may be fetched now, in their order. */
  sets(pid: number, afterRank: number, limit: number): WaitingSet[] {
    const after = ofRank(afterRank);
    return this.#selectSets(pid, after.class, this.#before + after.number, limit);
  }

  /** How many there are of those, counted as far as `most`: some 20 ns each. */
  countSets(pid: number, afterRank: number, most: number): number {
    const after = ofRank(afterRank);
    return this.#countSetsAfter(pid, after.class, this.#before + after.number, most);
  }

  /** The providers with sets that may be fetched now: a look-up each. */
  *providers(): Generator<number, void> {
    for (let pid = this.#nextProvider(0); pid != null; pid = this.#nextProvider(pid)) yield pid;
  }

  /** True if any set that may be fetched now is not its provider's own. */
  readonly hasUnasked = this.sql.has<[pid: number]>(
    `SELECT 1 FROM qpsdb WHERE starttimeslot = ${NOW_SLOT} AND pid = ? AND class > 0 LIMIT 1`,
  );

  /** The set's next rows after a place, without bad ones. */
  next(set: WaitingSet, afterPos: number, limit: number): WaitingRow[] {
    return this.#ahead.next(set, afterPos, limit);
  }

  /** How many rows there are after a place, without bad ones, counted as far as `most`. */
  readonly count = this.sql.number<[set: WaitingSet, afterPos: number, most: number]>(
    `SELECT count(*) FROM (SELECT 1 FROM queued
       WHERE pos > ? AND pos <= $lastpos AND slot = $slot AND tries = 0 ${AT_MOST})`,
  );

  /**
   * Rows of the provider are changed, by anything but their own results: what was read ahead is read again.
   */
  changed(pid: number): void {
    this.#ahead.forget(pid);
  }

  at(pos: number): WaitingRow | undefined {
    const raw = this.#selectWaiting.get(pos);
    return raw && waitingRow(raw);
  }

  /** All columns of a row. */
  readonly whole = this.sql.row<[pos: number], QueueRow, QueueRow>(
    `SELECT ${ROW_COLUMNS} FROM qdb WHERE pos = ?`,
    queueRow,
  );

  /** The row of a url that waits. */
  readonly waiting = this.sql.row<UrlKey, { pos: number; op: 0 | 1; flags: number; named: number }>(
    `SELECT pos, op, flags, coalesce(named, psetid) AS named FROM queued WHERE pos = ${placeOf()}`,
  );

  /** How often a row was announced; undefined when it is gone. */
  readonly generation = this.sql.value<[pos: number], number>('SELECT gen FROM queued WHERE pos = ?');

  /** The fewest tries any bad url of the set has had; undefined when it has no bad ones (now). */
  readonly leastTries = this.sql.value<[psetid: number], number>(
    `SELECT min(tries) FROM queued WHERE psetid = ? AND tries > 0 AND slot = ${NOW_SLOT}`,
  );

  /** The set's urls that failed `tries` times, after a place. */
  bad(psetid: number, tries: number, afterPos: number, limit: number): WaitingRow[] {
    return this.#selectBad.all(psetid, tries, afterPos, limit).map(waitingRow);
  }

  /** True if any row of this part of the set is left. */
  hasRows(set: WaitingSet): boolean {
    return this.classOf(set) !== undefined;
  }

  /** The class of a set, as its rows say; undefined when none is left. */
  readonly classOf = this.sql.value<[set: Pick<WaitingSet, 'firstpos' | 'lastpos' | 'slot'>], SetClass>(
    `SELECT ${CLASS_OF_ROW} FROM queued WHERE pos BETWEEN $firstpos AND $lastpos AND slot = $slot LIMIT 1`,
  );

  /** Makes a set visible to the scheduler, if it is not. Inside a transaction. */
  addSet(set: WaitingSet): void {
    this.#insertSet(set, this.#nowS());
  }

  /** Inside a transaction. */
  readonly removeSet = this.sql.run<[set: WaitingSet]>(
    'DELETE FROM qpsdb WHERE psetid = $psetid AND starttimeslot = $slot',
  );

  /** True if a page waits, as whatever type. */
  readonly has = this.sql.has<[pid: number, curl: string]>(`SELECT 1 WHERE EXISTS ${placesOf()}`);

  /** True if its owner has announced a page, as whatever type, and that waits or is being fetched. */
  readonly isAnnounced = this.sql.has<[pid: number, curl: string]>(
    `SELECT 1 FROM queued WHERE pos IN ${placesOf()} AND op = 1 AND flags & ${UNASKED} = 0 LIMIT 1`,
  );

  /**
   * The page of another url, which does not wait, takes the place of a row, as served. Inside a transaction.
   */
  rename(
    { pos, pid }: { pos: number; pid: number },
    { curl, furl = null }: { curl: string; furl?: string | null },
    flags: number,
  ): void {
    const { folderid, name } = this.#folders.of(pid, curl, AS_SERVED);
    this.#renameRow(folderid, name, furl, flags, pos);
  }

  /** Removes a row. Inside a transaction. */
  drop(row: { pos: number; pid: number }): void {
    // safeguard: counting rows that leave the queue
    if (this.#deleteRow(row.pos)) this.#tally.waiting(row.pid, -1);
  }
}
