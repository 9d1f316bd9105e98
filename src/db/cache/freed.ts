/** Files waiting to be deleted on their machines, and deletions waiting to be forgotten. */
import type { Db } from '../open.js';

export interface FreedFile {
  fid: number;
  machineid: string;
  fileid: string;
}

/** Most rows a count looks at: status must not scan millions. */
const COUNT_MAX = 100_000;

export class FreedStore {
  readonly #page;
  readonly #nextMachine;
  readonly #add;
  readonly #remove;
  readonly #count;
  readonly #oldest;
  readonly #forget;
  readonly #purged;
  readonly #newest;
  readonly #correct;
  /** Files noted by this process; nobody else notes any while it runs. */
  added = 0;

  constructor(db: Db) {
    this.#page = db.prepare<[string, number, number], FreedFile>(
      'SELECT fid, machineid, fileid FROM freed WHERE machineid = ? AND fid > ? ORDER BY fid LIMIT ?',
    );
    this.#nextMachine = db
      .prepare<[string], string>('SELECT machineid FROM freed WHERE machineid > ? ORDER BY machineid LIMIT 1')
      .pluck();
    this.#add = db.prepare<[string, string]>('INSERT INTO freed(machineid, fileid) VALUES (?, ?)');
    this.#remove = db.prepare<[number]>('DELETE FROM freed WHERE fid = ?');
    this.#count = db
      .prepare<[], number>(`SELECT count(*) FROM (SELECT 1 FROM freed LIMIT ${COUNT_MAX})`)
      .pluck();
    this.#oldest = db.prepare<[number], { seq: number; at: number }>(
      `SELECT seq, deleted_time AS at FROM tombstone UNION SELECT seq, left_time FROM oldpath ORDER BY seq LIMIT ?`,
    );
    this.#forget = ['tombstone', 'oldpath'].map(table =>
      db.prepare<[number]>(`DELETE FROM ${table} WHERE seq <= ?`),
    );
    this.#newest = db
      .prepare<[{ below: number; limit: number }], number>(
        `SELECT seq FROM tombstone WHERE seq < $below UNION SELECT seq FROM oldpath WHERE seq < $below
         ORDER BY seq DESC LIMIT $limit`,
      )
      .pluck();
    this.#correct = ['tombstone SET deleted_time', 'oldpath SET left_time'].map(column =>
      db.prepare<[number, number, number, number]>(
        `UPDATE ${column} = ? WHERE seq >= ? AND seq < ? AND ${column.split(' ').at(-1)} > ?`,
      ),
    );
    this.#purged = db.prepare<[number]>("UPDATE counter SET value = ? WHERE name = 'purged'");
  }

  /** The machine's freed files behind `afterFid`, oldest first. */
  page(machineid: string, afterFid: number, limit: number): FreedFile[] {
    return this.#page.all(machineid, afterFid, limit);
  }

  /** Machines that have freed files: a look-up each. */
  machines(): string[] {
    const found: string[] = [];
    for (let id = this.#nextMachine.get(''); id !== undefined; id = this.#nextMachine.get(id)) found.push(id);
    return found;
  }

  /** Notes a file to be deleted. Inside a transaction. */
  add(machineid: string, fileid: string): void {
    this.#add.run(machineid, fileid);
    this.added++;
  }

  /** The file is gone from its machine. Inside a transaction. */
  remove(fid: number): void {
    this.#remove.run(fid);
  }

  /** How many files wait, 100 000 at most. */
  count(): number {
    return this.#count.get() ?? 0;
  }

  /** Whether there is a tombstone, or an old path, to forget. */
  hasTombstones(beforeS: number): boolean {
    const oldest = this.#oldest.get(1);
    return oldest !== undefined && oldest.at < beforeS;
  }

  /**
   * Tombstones and old paths made while the clock was ahead count as made now: else they, and all behind them, were kept
   * that much longer. The `limit` newest with numbers below `belowSeq` are looked at. Inside a transaction.
   * @returns the least of their numbers; undefined when there is none
   */
  correctTombstones(belowSeq: number, limit: number, nowS: number): number | undefined {
    const least = this.#newest.all({ below: belowSeq, limit }).at(-1);
    if (least === undefined) return undefined;
    for (const correct of this.#correct) correct.run(nowS, least, belowSeq, nowS);
    return least;
  }

  /**
   * Forgets tombstones and old paths made before `beforeS`, `limit` at most, in the order of the change sequence. Inside a transaction.
   * @returns how many
   */
  purgeTombstones(beforeS: number, limit: number): number {
    const rows = this.#oldest.all(limit);
    const kept = rows.findIndex(row => row.at >= beforeS);
    const old = kept < 0 ? rows : rows.slice(0, kept);
    const last = old.at(-1);
    if (last === undefined) return 0;
    for (const forget of this.#forget) forget.run(last.seq);
    this.#purged.run(last.seq);
    return old.length;
  }
}
