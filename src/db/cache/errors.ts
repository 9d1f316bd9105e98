/** Errors of urls, kept for the provider until it has received them (pierr). */
import { formatUrl, type UrlRecord } from '../../wire/url.js';
import type { Db } from '../open.js';
import { AT_MOST } from '../paging.js';
import { corrupt, damagedErrors, type DamagedError } from '../damage.js';
import { errorSum } from '../sums.js';
import type { Tally } from './tally.js';

/** Most bytes of an error's message that are kept. */
const MAX_TEXT = 1000;

export class ErrorStore {
  readonly #db: Db;
  readonly #insert;
  readonly #last;
  readonly #count;
  readonly #delivered;
  readonly #recount;
  readonly #keptMax: number;
  readonly #tally: Tally;

  /** @param keptMax errors kept for one provider; further ones are only counted */
  constructor(db: Db, tally: Tally, keptMax: number) {
    this.#db = db;
    this.#keptMax = keptMax;
    this.#tally = tally;
    this.#insert = db.prepare<[number, number, number, string, string, number]>(
      'INSERT INTO pierr(errseq, pid, code, text, attrs, sum) VALUES (?, ?, ?, ?, ?, ?)',
    );
    this.#last = db
      .prepare<[], number>(
        `SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'pierr'), 0),
           coalesce((SELECT max(errseq) FROM pierr), 0))`,
      )
      .pluck();
    this.#count = db
      .prepare<[number, number], number>(
        `SELECT count(*) FROM (SELECT 1 FROM pierr WHERE pid = ? ${AT_MOST})`,
      )
      .pluck();
    this.#delivered = db.prepare<[number, number]>('DELETE FROM pierr WHERE pid = ? AND errseq <= ?');
    this.#recount = db.prepare<[number, number, number]>(
      `UPDATE pidb SET nurlerrs = CASE WHEN EXISTS (SELECT 1 FROM pierr WHERE pid = ?)
         THEN max(0, nurlerrs - ?) ELSE 0 END WHERE pid = ?`,
    );
  }

  /**
   * Records that `record` could not be served, with all that the CP said of it.
   * @param alwaysKept for the few that must not be lost among many
   */
  add(pid: number, record: UrlRecord, code: number, text: string, alwaysKept = false): void {
    this.#tally.error(pid);
    const { keptErrors } = this.#tally;
    const kept = keptErrors.get(pid) ?? this.#count.get(pid, this.#keptMax) ?? 0;
    const isKept = alwaysKept || kept < this.#keptMax;
    keptErrors.set(pid, isKept ? kept + 1 : kept);
    if (!isKept) return;
    const attrs = formatUrl(record).slice('<url'.length, -'/>\n'.length);
    const row = { errseq: (this.#last.get() ?? 0) + 1, pid, code, text: text.slice(0, MAX_TEXT), attrs };
    this.#insert.run(row.errseq, pid, code, row.text, attrs, errorSum(row));
  }

  /**
   * The CP has received every error up to `errseq`: they are forgotten. Those that were only counted are forgotten with
   * the last one kept: the CP has been told their number beside it.
   */
  delivered(pid: number, errseq: number): void {
    const { changes } = this.#delivered.run(pid, errseq);
    this.#tally.keptErrors.delete(pid);
    if (changes > 0) this.#recount.run(pid, changes, pid);
  }

  /** As `damagedErrors`. */
  damaged(): Generator<DamagedError[], void> {
    return damagedErrors(this.#db);
  }

  /** Forgets damaged ones. Inside a transaction. */
  drop(damaged: readonly DamagedError[]): void {
    const remove = this.#db.prepare<[number]>('DELETE FROM pierr WHERE errseq = ?');
    for (const { errseq, pid } of damaged) {
      if (remove.run(errseq).changes === 0) throw corrupt(`error ${errseq} is not in its place`);
      this.#tally.keptErrors.delete(pid);
      this.#recount.run(pid, 1, pid);
    }
  }
}
