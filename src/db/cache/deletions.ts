/**
 * Deletions, remembered for content users, and the files that rows no longer point to: written, and forgotten after their
 * time. A cursor from before a deletion that was forgotten (counter `purged`) begins again.
 */
import { purgedOf, setPurged } from '../sqlite/counters.js';
import type { Db } from '../sqlite/open.js';

const TABLES = ['tombstone', 'oldpath'] as const;

/** A deletion, as content users are told it. */
interface Deletion {
  seq: number;
  /** Id of the row of lccurl. */
  id: number;
  pid: number;
  curl: string;
  mimetype: string;
  burl: string | null;
  deleted_time: number;
  moved: 0 | 1;
}

/** A file that a row no longer points to. */
interface OldPath {
  seq: number;
  pid: number;
  mimetype: string;
  machineid: string;
  fileid: string;
  left_time: number;
}

export class DeletionStore {
  readonly #db: Db;
  readonly #insertTombstone;
  readonly #insertOldPath;
  readonly #selectOldest;
  readonly #forget;
  readonly #selectNewest;
  readonly #correct;

  constructor(db: Db) {
    this.#db = db;
    this.#insertTombstone = db.prepare(
      `INSERT INTO tombstone(seq, id, pid, curl, mimetype, burl, deleted_time, moved) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#insertOldPath = db.prepare(
      'INSERT INTO oldpath(seq, pid, mimetype, machineid, fileid, left_time) VALUES (?, ?, ?, ?, ?, ?)',
    );
    this.#selectOldest = db.prepare<[number], { seq: number; at: number }>(
      `SELECT seq, deleted_time AS at FROM tombstone UNION SELECT seq, left_time FROM oldpath ORDER BY seq LIMIT ?`,
    );
    this.#forget = TABLES.map(table => db.prepare<[number]>(`DELETE FROM ${table} WHERE seq <= ?`));
    this.#selectNewest = db
      .prepare<[{ below: number; limit: number }], number>(
        `SELECT seq FROM tombstone WHERE seq < $below UNION SELECT seq FROM oldpath WHERE seq < $below
         ORDER BY seq DESC LIMIT $limit`,
      )
      .pluck();
    const correct = (table: string, time: string) =>
      db.prepare<{ nowS: number; least: number; below: number }>(
        `UPDATE ${table} SET ${time} = $nowS WHERE ${time} > $nowS AND seq >= $least AND seq < $below`,
      );
    this.#correct = [correct('tombstone', 'deleted_time'), correct('oldpath', 'left_time')];
  }

  /** Content is gone, or one browse URL of it. Inside a transaction. */
  bury({ seq, id, pid, curl, mimetype, burl, deleted_time, moved }: Deletion): void {
    this.#insertTombstone.run(seq, id, pid, curl, mimetype, burl, deleted_time, moved);
  }

  /** A file is no longer the one of a row. Inside a transaction. */
  leave({ seq, pid, mimetype, machineid, fileid, left_time }: OldPath): void {
    this.#insertOldPath.run(seq, pid, mimetype, machineid, fileid, left_time);
  }

  /** Whether there is a tombstone, or an old path, to forget. */
  hasOld(beforeS: number): boolean {
    const oldest = this.#selectOldest.get(1);
    return oldest !== undefined && oldest.at < beforeS;
  }

  /**
   * Tombstones and old paths made while the clock was ahead count as made now: else they, and all after them, were kept
   * that much longer. The `limit` newest with numbers below `belowSeq` are looked at. Inside a transaction.
   * @returns the least of their numbers; undefined when there is none
   */
  correctTimes(belowSeq: number, limit: number, nowS: number): number | undefined {
    const least = this.#selectNewest.all({ below: belowSeq, limit }).at(-1);
    if (least === undefined) return undefined;
    for (const correct of this.#correct) correct.run({ nowS, least, below: belowSeq });
    return least;
  }

  /**
   * Forgets tombstones and old paths made before `beforeS`, `limit` at most, in the order of the change sequence. Inside a transaction.
   * @returns how many
   */
  forget(beforeS: number, limit: number): number {
    const rows = this.#selectOldest.all(limit);
    const kept = rows.findIndex(row => row.at >= beforeS);
    const old = kept < 0 ? rows : rows.slice(0, kept);
    const last = old.at(-1);
    if (last === undefined) return 0;
    for (const forget of this.#forget) forget.run(last.seq);
    setPurged(this.#db, Math.max(last.seq, purgedOf(this.#db)));
    return old.length;
  }
}
