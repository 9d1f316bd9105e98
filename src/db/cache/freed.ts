/** Files waiting to be deleted on their machines. */
import type { Db } from '../sqlite/open.js';

export interface FreedFile {
  fid: number;
  machineid: string;
  fileid: string;
}

/** Most rows a count looks at: status must not scan millions. */
const COUNT_MAX = 100_000;

export class FreedStore {
  readonly #selectPage;
  readonly #nextMachine;
  readonly #insertFile;
  readonly #deleteFile;
  readonly #countFiles;
  readonly #countFilesOf;
  /** Files noted by this process; nobody else notes any while it runs. */
  added = 0;

  constructor(db: Db) {
    this.#selectPage = db.prepare<[string, number, number], FreedFile>(
      'SELECT fid, machineid, fileid FROM freed WHERE machineid = ? AND fid > ? ORDER BY fid LIMIT ?',
    );
    this.#nextMachine = db
      .prepare<[string], string>('SELECT machineid FROM freed WHERE machineid > ? ORDER BY machineid LIMIT 1')
      .pluck();
    this.#insertFile = db.prepare<[string, string]>('INSERT INTO freed(machineid, fileid) VALUES (?, ?)');
    this.#deleteFile = db.prepare<[number]>('DELETE FROM freed WHERE fid = ?');
    this.#countFiles = db
      .prepare<[], number>(`SELECT count(*) FROM (SELECT 1 FROM freed LIMIT ${COUNT_MAX})`)
      .pluck();
    this.#countFilesOf = db
      .prepare<[string], number>(
        `SELECT count(*) FROM (SELECT 1 FROM freed WHERE machineid = ? LIMIT ${COUNT_MAX})`,
      )
      .pluck();
  }

  /** The machine's freed files after `afterFid`, oldest first. */
  page(machineid: string, afterFid: number, limit: number): FreedFile[] {
    return this.#selectPage.all(machineid, afterFid, limit);
  }

  /** Machines that have freed files: a look-up each. */
  machines(): string[] {
    const found: string[] = [];
    for (let id = this.#nextMachine.get(''); id !== undefined; id = this.#nextMachine.get(id)) found.push(id);
    return found;
  }

  /** Notes a file to be deleted. Inside a transaction. */
  add(machineid: string, fileid: string): void {
    this.#insertFile.run(machineid, fileid);
    this.added++;
  }

  /** The file is gone from its machine. Inside a transaction. */
  remove(fid: number): void {
    this.#deleteFile.run(fid);
  }

  /** How many files of one machine wait, 100 000 at most. */
  countOf(machineid: string): number {
    return this.#countFilesOf.get(machineid) ?? 0;
  }

  /** How many files wait, 100 000 at most. */
  count(): number {
    return this.#countFiles.get() ?? 0;
  }
}
