/** Errors of urls, kept for the provider until it has received them (pierr). */
import { formatUrl, type UrlRecord } from '../../wire/url.js';
import type { Db } from '../open.js';
import type { Tally } from './tally.js';

/** Most bytes of an error's message that are kept. */
const MAX_TEXT = 1000;

export class ErrorStore {
  readonly #insert;
  readonly #count;
  readonly #delivered;
  readonly #recount;
  readonly #keptMax: number;
  readonly #tally: Tally;

  /** @param keptMax errors kept for one provider; further ones are only counted */
  constructor(db: Db, tally: Tally, keptMax: number) {
    this.#keptMax = keptMax;
    this.#tally = tally;
    this.#insert = db.prepare<[number, number, string, string]>(
      'INSERT INTO pierr(pid, code, text, attrs) VALUES (?, ?, ?, ?)',
    );
    this.#count = db
      .prepare<[number, number], number>('SELECT count(*) FROM (SELECT 1 FROM pierr WHERE pid = ? LIMIT ?)')
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
    this.#insert.run(pid, code, text.slice(0, MAX_TEXT), attrs);
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
}
