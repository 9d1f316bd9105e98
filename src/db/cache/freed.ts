/** Files waiting to be deleted on their machines. */
import { SqlStore } from '../sqlite/sql-store.js';

export interface FreedFile {
  fid: number;
  machineid: string;
  fileid: string;
}

/** Most rows a count looks at: status must not scan millions. */
const COUNT_MAX = 100_000;

export class FreedStore extends SqlStore {
  readonly #nextMachine = this.sql.value<[machineid: string], string>(
    'SELECT machineid FROM freed WHERE machineid > ? ORDER BY machineid LIMIT 1',
  );
  readonly #insertFile = this.sql.run<[machineid: string, fileid: string]>(
    'INSERT INTO freed(machineid, fileid) VALUES (?, ?)',
  );
  /** The file that was noted last, and may be gone. */
  readonly last = this.sql.number("SELECT seq FROM sqlite_sequence WHERE name = 'freed'");
  /** Files noted by this process; nobody else notes any while it runs. */
  added = 0;

  /** The machine's freed files after `afterFid`, oldest first. */
  readonly page = this.sql.rows<[machineid: string, afterFid: number, limit: number], FreedFile>(
    'SELECT fid, machineid, fileid FROM freed WHERE machineid = ? AND fid > ? ORDER BY fid LIMIT ?',
  );

  /** Machines that have freed files: a look-up each. */
  machines(): string[] {
    const found: string[] = [];
    for (let id = this.#nextMachine(''); id !== undefined; id = this.#nextMachine(id)) found.push(id);
    return found;
  }

  /** Notes a file to be deleted. Inside a transaction. */
  add(machineid: string, fileid: string): void {
    this.#insertFile(machineid, fileid);
    this.added++;
  }

  /** The file is gone from its machine. Inside a transaction. */
  readonly remove = this.sql.run<[fid: number]>('DELETE FROM freed WHERE fid = ?');

  /** How many files of one machine wait, 100 000 at most. */
  readonly countOf = this.sql.number<[machineid: string]>(
    `SELECT count(*) FROM (SELECT 1 FROM freed WHERE machineid = ? LIMIT ${COUNT_MAX})`,
  );

  /** How many files wait, 100 000 at most. */
  readonly count = this.sql.number(`SELECT count(*) FROM (SELECT 1 FROM freed LIMIT ${COUNT_MAX})`);
}
