/**
 * Deletions, remembered for content users, and the files that rows no longer point to: written, and forgotten
 * after their time. A cursor from before a deletion that was forgotten (counter `purged`) begins again.
 */
import { purgedOf, setPurged } from '../sqlite/counters.js';
import { SqlStore } from '../sqlite/sql-store.js';

/** Tables, each with the column that says when. */
const TIMES = { tombstone: 'deleted_time', oldpath: 'left_time' } as const;

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

export class DeletionStore extends SqlStore {
  readonly #selectOldest = this.sql.rows<[limit: number], { seq: number; at: number }>(
    `SELECT seq, deleted_time AS at FROM tombstone UNION SELECT seq, left_time FROM oldpath ORDER BY seq LIMIT ?`,
  );
  readonly #forget = Object.keys(TIMES).map(table =>
    this.sql.run<[seq: number]>(`DELETE FROM ${table} WHERE seq <= ?`),
  );
  readonly #selectNewest = this.sql.values<[values: { below: number; limit: number }], number>(
    `SELECT seq FROM tombstone WHERE seq < $below UNION SELECT seq FROM oldpath WHERE seq < $below
     ORDER BY seq DESC LIMIT $limit`,
  );
  readonly #correct = Object.entries(TIMES).map(([table, time]) =>
    this.sql.run<[values: { nowS: number; least: number; below: number }]>(
      `UPDATE ${table} SET ${time} = $nowS WHERE ${time} > $nowS AND seq >= $least AND seq < $below`,
    ),
  );

  /** Content is gone, or one browse URL of it. Inside a transaction. */
  readonly bury = this.sql.run<[deletion: Deletion]>(
    `INSERT INTO tombstone(seq, id, pid, curl, mimetype, burl, deleted_time, moved)
     VALUES ($seq, $id, $pid, $curl, $mimetype, $burl, $deleted_time, $moved)`,
  );

  /** A file is no longer the one of a row. Inside a transaction. */
  readonly leave = this.sql.run<[path: OldPath]>(
    `INSERT INTO oldpath(seq, pid, mimetype, machineid, fileid, left_time)
     VALUES ($seq, $pid, $mimetype, $machineid, $fileid, $left_time)`,
  );

  /** True if there is a tombstone, or an old path, to forget. */
  hasOld(beforeS: number): boolean {
    const [oldest] = this.#selectOldest(1);
    return oldest !== undefined && oldest.at < beforeS;
  }

  /**
   * Tombstones and old paths made while the clock was ahead count as made now: else they, and all after them,
   * were kept that much longer. The `limit` newest with numbers below `belowSeq` are looked at. Inside a
   * transaction.
   * @returns the least of their numbers; undefined when there is none
   */
  correctTimes(belowSeq: number, limit: number, nowS: number): number | undefined {
    const least = this.#selectNewest({ below: belowSeq, limit }).at(-1);
    if (least === undefined) return undefined;
    for (const correct of this.#correct) correct({ nowS, least, below: belowSeq });
    return least;
  }

  /**
   * Forgets tombstones and old paths made before `beforeS`, `limit` at most, in the order of the change
   * sequence. Inside a transaction.
   * @returns how many
   */
  forget(beforeS: number, limit: number): number {
    const rows = this.#selectOldest(limit);
    const kept = rows.findIndex(row => row.at >= beforeS);
    const old = kept < 0 ? rows : rows.slice(0, kept);
    const last = old.at(-1);
    if (last === undefined) return 0;
    for (const forget of this.#forget) forget(last.seq);
    setPurged(this.db, Math.max(last.seq, purgedOf(this.db)));
    return old.length;
  }
}
