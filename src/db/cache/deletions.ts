/**
 * Deletions, remembered for content users, and the files that rows no longer point to: written, forgotten after their
 * time, and looked through for damage. Content users are told of no damaged one, and whose cursor may be before it begins
 * anew (counter `purged`): what it said nobody knows.
 */
import { purgedOf, setPurged } from '../counters.js';
import { corrupt, damagedDeletions, type DamagedDeletion } from '../damage.js';
import type { Db } from '../open.js';
import {
  DELETION_SUM_TEXT,
  deletionSum,
  isSoundText,
  OLD_PATH_SUM_TEXT,
  oldPathSum,
  type SummedDeletion,
  type SummedOldPath,
} from '../sums.js';
import type { Tally } from './tally.js';

const TABLES = ['tombstone', 'oldpath'] as const;

type Summed = { text: string; sum: number | null };

export class DeletionStore {
  readonly #db: Db;
  readonly #bury;
  readonly #leave;
  readonly #oldest;
  readonly #forget;
  readonly #newest;
  readonly #ahead;
  readonly #correct;
  readonly #tally: Tally;

  constructor(db: Db, tally: Tally) {
    this.#db = db;
    this.#tally = tally;
    this.#bury = db.prepare(
      `INSERT INTO tombstone(seq, id, pid, curl, mimetype, burl, deleted_time, moved, sum)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#leave = db.prepare(
      'INSERT INTO oldpath(seq, pid, mimetype, machineid, fileid, left_time, sum) VALUES (?, ?, ?, ?, ?, ?, ?)',
    );
    this.#oldest = db.prepare<[number], { seq: number; at: number }>(
      `SELECT seq, deleted_time AS at FROM tombstone UNION SELECT seq, left_time FROM oldpath ORDER BY seq LIMIT ?`,
    );
    this.#forget = TABLES.map(table => db.prepare<[number]>(`DELETE FROM ${table} WHERE seq <= ?`));
    this.#newest = db
      .prepare<[{ below: number; limit: number }], number>(
        `SELECT seq FROM tombstone WHERE seq < $below UNION SELECT seq FROM oldpath WHERE seq < $below
         ORDER BY seq DESC LIMIT $limit`,
      )
      .pluck();
    const ahead = (columns: string, text: string) =>
      `SELECT *, ${text} AS text FROM ${columns} > ? AND seq >= ? AND seq < ?`;
    this.#ahead = {
      tombstone: db.prepare<[number, number, number], SummedDeletion & Summed>(
        ahead('tombstone WHERE deleted_time', DELETION_SUM_TEXT),
      ),
      oldpath: db.prepare<[number, number, number], SummedOldPath & Summed>(
        ahead('oldpath WHERE left_time', OLD_PATH_SUM_TEXT),
      ),
    };
    this.#correct = {
      tombstone: db.prepare<[number, number, number]>(
        'UPDATE tombstone SET deleted_time = ?, sum = ? WHERE seq = ?',
      ),
      oldpath: db.prepare<[number, number, number]>(
        'UPDATE oldpath SET left_time = ?, sum = ? WHERE seq = ?',
      ),
    };
  }

  /** Content is gone, or one browse URL of it. Inside a transaction. */
  bury(row: SummedDeletion): void {
    const { seq, id, pid, curl, mimetype, burl, deleted_time, moved } = row;
    this.#bury.run(seq, id, pid, curl, mimetype, burl, deleted_time, moved, deletionSum(row));
  }

  /** A file is no longer the one of a row. Inside a transaction. */
  leave(row: SummedOldPath): void {
    const { seq, pid, mimetype, machineid, fileid, left_time } = row;
    this.#leave.run(seq, pid, mimetype, machineid, fileid, left_time, oldPathSum(row));
  }

  /** Whether there is a tombstone, or an old path, to forget. */
  hasOld(beforeS: number): boolean {
    const oldest = this.#oldest.get(1);
    return oldest !== undefined && oldest.at < beforeS;
  }

  /**
   * Tombstones and old paths made while the clock was ahead count as made now: else they, and all behind them, were kept
   * that much longer. The `limit` newest with numbers below `belowSeq` are looked at. Inside a transaction.
   * @returns the least of their numbers; undefined when there is none
   */
  correctTimes(belowSeq: number, limit: number, nowS: number): number | undefined {
    const least = this.#newest.all({ below: belowSeq, limit }).at(-1);
    if (least === undefined) return undefined;
    for (const row of this.#ahead.tombstone.all(nowS, least, belowSeq))
      if (isSoundText(row.text, row.sum))
        this.#correct.tombstone.run(nowS, deletionSum({ ...row, deleted_time: nowS }), row.seq);
    for (const row of this.#ahead.oldpath.all(nowS, least, belowSeq))
      if (isSoundText(row.text, row.sum))
        this.#correct.oldpath.run(nowS, oldPathSum({ ...row, left_time: nowS }), row.seq);
    return least;
  }

  /**
   * Forgets tombstones and old paths made before `beforeS`, `limit` at most, in the order of the change sequence. Inside a transaction.
   * @returns how many
   */
  forget(beforeS: number, limit: number): number {
    const rows = this.#oldest.all(limit);
    const kept = rows.findIndex(row => row.at >= beforeS);
    const old = kept < 0 ? rows : rows.slice(0, kept);
    const last = old.at(-1);
    if (last === undefined) return 0;
    for (const forget of this.#forget) forget.run(last.seq);
    setPurged(this.#db, Math.max(last.seq, purgedOf(this.#db) ?? 0));
    return old.length;
  }

  /** As `damagedDeletions`. */
  damaged(): Generator<DamagedDeletion[], void> {
    return damagedDeletions(this.#db);
  }

  /**
   * Removes damaged ones. Every cursor there is now is before the next number, and begins anew: which numbers the damaged
   * ones had, and who has read past them, nobody knows. Inside a transaction.
   * @throws what SQLite says of a damaged table, where one is not found by its number
   */
  drop(damaged: readonly DamagedDeletion[]): void {
    if (damaged.length === 0) return;
    for (const { table, seq } of damaged) {
      if (this.#db.prepare(`DELETE FROM ${table} WHERE seq = ?`).run(seq).changes === 0)
        throw corrupt(`${table} ${seq} is not in its place`);
    }
    setPurged(this.#db, this.#tally.takeSeq());
  }
}
