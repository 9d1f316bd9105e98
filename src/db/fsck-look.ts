/** Questions of lccfsck to lcc.db. Nothing is kept of ten million rows: pages, or what SQLite sums up by
 * itself. */
import { pagesByNumber } from './sqlite/paging.js';
import { SqlStore } from './sqlite/sql-store.js';
import type { ContentRow } from './queue/refetch.js';

export interface WrongCount {
  pid: number;
  column: 'filesused' | 'spaceused' | 'nurlerrs' | 'nurlproc';
  is: number;
  should: number;
}

interface WrongNumber {
  where: string;
  what: string;
}

/** Numbers reported of each kind. */
const MAX_NUMBERS = 1000;

export class FsckLook extends SqlStore {
  readonly #contentPage = this.sql.rows<[afterId: number, limit: number], ContentRow>(
    'SELECT * FROM lccurl WHERE id > ? ORDER BY id LIMIT ?',
  );
  readonly #freedPage = this.sql.rows<
    [machineid: string, afterFid: number, limit: number],
    { fid: number; fileid: string }
  >('SELECT fid, fileid FROM freed WHERE machineid = ? AND fid > ? ORDER BY fid LIMIT ?');

  /** True if that file waits to be deleted and a row points to it, both now. */
  readonly isHeldThough = this.sql.has<[fid: number]>(
    'SELECT 1 FROM freed JOIN lccurl ON fetched_fileid = fileid AND fetched_machineid = machineid WHERE fid = ?',
  );

  /** True if several rows point to a file of a machine now. */
  readonly isShared = this.sql.has<[machineid: string, fileid: string]>(
    'SELECT 1 FROM lccurl WHERE fetched_machineid = ? AND fetched_fileid = ? LIMIT 1 OFFSET 1',
  );

  /** True if any row points to a file of that machine. */
  readonly holds = this.sql.has<[machineid: string]>(
    'SELECT 1 FROM lccurl WHERE fetched_machineid = ? LIMIT 1',
  );

  /** True if the row points to that file now. */
  readonly isCurrent = this.sql.has<[row: Pick<ContentRow, 'id' | 'fetched_fileid'>]>(
    'SELECT 1 FROM lccurl WHERE id = $id AND fetched_fileid = $fetched_fileid',
  );

  /** A look may ask several questions, and a database that is written meanwhile answers each as it is then:
   * suspicions are looked for again, in one snapshot. */
  *surely<T>(look: () => Iterable<T>): Generator<T, void> {
    const [suspicion] = look();
    if (suspicion === undefined) return;
    this.db.exec('SAVEPOINT look');
    try {
      yield* look();
    } finally {
      this.db.exec('RELEASE look');
    }
  }

  /** Rows of lccurl, page by page, in the order of their ids. */
  content(pageRows: number): Generator<ContentRow[], void> {
    return pagesByNumber(
      after => this.#contentPage(after, pageRows),
      row => row.id,
    );
  }

  /** Files of a machine that wait to be deleted. */
  *freed(machineid: string, pageRows: number): Generator<{ fid: number; fileid: string }, void> {
    const pages = pagesByNumber(
      after => this.#freedPage(machineid, after, pageRows),
      row => row.fid,
    );
    for (const rows of pages) yield* rows;
  }

  /**
   * Counters of providers that are not what the tables say. Errors may have been counted without being kept.
   */
  wrongCounts(): WrongCount[] {
    type Counts = Record<WrongCount['column'] | 'files' | 'space' | 'errors' | 'waiting' | 'pid', number>;
    const providers = this.sql.rows<[], Counts>(
      `WITH c AS (SELECT pid, count(*) AS files, CAST(total(len) AS INTEGER) AS space FROM lccurl GROUP BY pid),
           q AS (SELECT pid, count(*) AS waiting FROM queued GROUP BY pid),
           e AS (SELECT pid, count(*) AS errors FROM pierr GROUP BY pid)
         SELECT pid, filesused, spaceused, nurlerrs, nurlproc, coalesce(files, 0) AS files, coalesce(space, 0) AS space,
           coalesce(errors, 0) AS errors, coalesce(waiting, 0) AS waiting
         FROM pidb LEFT JOIN c USING (pid) LEFT JOIN q USING (pid) LEFT JOIN e USING (pid) ORDER BY pid`,
    )();
    return providers.flatMap(row => {
      const { pid, files, space, errors, waiting } = row;
      const errorsFit = row.nurlerrs === errors || (errors > 0 && row.nurlerrs > errors);
      const should = {
        filesused: files,
        spaceused: space,
        nurlerrs: errorsFit ? row.nurlerrs : errors,
        nurlproc: waiting,
      };
      return (Object.keys(should) as WrongCount['column'][])
        .filter(column => row[column] !== should[column])
        .map(column => ({ pid, column, is: row[column], should: should[column] }));
    });
  }

  /** Numbers of the change sequence that are not as they were given out. */
  *wrongNumbers(): Generator<WrongNumber, void> {
    const seq = this.sql.value<[], number>("SELECT value FROM counter WHERE name = 'seq'")() ?? NaN;
    const found = (what: string, sql: string, ...values: number[]): WrongNumber[] =>
      this.sql
        .values<number[], string>(`SELECT place FROM (${sql}) LIMIT ${MAX_NUMBERS}`)(...values)
        .map(where => ({ where, what }));
    yield* found(
      `beyond the last number given out, ${seq}`,
      `SELECT 'lccurl seq ' || seq AS place FROM lccurl WHERE seq > ?
       UNION ALL SELECT 'tombstone ' || seq FROM tombstone WHERE seq > ?`,
      seq,
      seq,
    );
    yield* found(
      'a number that a row of lccurl has as well',
      `SELECT 'tombstone ' || seq AS place FROM tombstone JOIN lccurl USING (seq)`,
    );
  }
}
