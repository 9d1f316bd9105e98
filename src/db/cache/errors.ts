/** Errors of urls, kept for the provider until it has received them (pierr). */
import { REMOVALS_HELD, SILENT_CHANGE } from '../../wire/codes.js';
import { formatUrl, type UrlRecord } from '../../wire/url.js';
import type { Db } from '../sqlite/open.js';
import { AT_MOST } from '../sqlite/paging.js';
import { JointStore } from '../sqlite/sql-store.js';
import type { Failure, FailureStore } from './failures.js';
import type { Tally } from './tally.js';

/** Most bytes of an error's message that are kept. */
const MAX_TEXT = 1000;

/** Errors kept for one provider; further ones are only counted, but for the last of all. */
const KEPT_MAX = 1000;

/** Codes that say nothing of a fetch: removals that are held back, content that has come without a word. */
const ABOUT_NO_FAILURE: readonly number[] = [REMOVALS_HELD, SILENT_CHANGE];

/** An error that is counted and not kept. */
interface CountedError {
  record: UrlRecord;
  code: number;
  text: string;
}

export class ErrorStore extends JointStore<{ tally: Tally; failures: FailureStore }> {
  readonly #insertError = this.sql.run<
    [errseq: number, pid: number, code: number, text: string, attrs: string]
  >('INSERT INTO pierr(errseq, pid, code, text, attrs) VALUES (?, ?, ?, ?, ?)');
  readonly #selectLast = this.sql.number(
    `SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'pierr'), 0),
       coalesce((SELECT max(errseq) FROM pierr), 0))`,
  );
  readonly #countErrors = this.sql.number<[pid: number, most: number]>(
    `SELECT count(*) FROM (SELECT 1 FROM pierr WHERE pid = ? ${AT_MOST})`,
  );
  readonly #selectNewest = this.sql.value<[pid: number], number>(
    `SELECT errseq FROM pierr WHERE pid = ? AND code <> ${REMOVALS_HELD} ORDER BY errseq DESC LIMIT 1`,
  );
  readonly #deleteError = this.sql.run<[errseq: number]>('DELETE FROM pierr WHERE errseq = ?');
  // safeguard: keeping errors until the CP has received them
  readonly #deleteDelivered = this.sql.changes<[pid: number, errseq: number]>(
    'DELETE FROM pierr WHERE pid = ? AND errseq <= ?',
  );
  readonly #updateCount = this.sql.run<[pid: number, count: number, ofPid: number]>(
    `UPDATE pidb SET nurlerrs = CASE WHEN EXISTS (SELECT 1 FROM pierr WHERE pid = ?)
       THEN max(0, nurlerrs - ?) ELSE 0 END WHERE pid = ?`,
  );
  readonly #selectOfUrl = this.sql.values<[pid: number, from: string, to: string], number>(
    `SELECT errseq FROM pierr WHERE pid = ? AND attrs >= ? AND attrs < ? AND code <> ${REMOVALS_HELD}`,
  );
  readonly #markCured = this.sql.run<[errseq: number]>('UPDATE pierr SET cured = 1 WHERE errseq = ?');
  readonly #selectIsLastOfMany = this.sql.value<[pid: number, ofPid: number], number>(
    `SELECT nurlerrs > 1 AND (SELECT count(*) FROM (SELECT 1 FROM pierr WHERE pid = ? LIMIT 2)) = 1
     FROM pidb WHERE pid = ?`,
  );
  readonly #keptMax: number;
  /** By provider: errors that are kept, where they have been counted in this transaction. */
  readonly #kept = new Map<number, number>();
  /** By provider: whether there are any, where that was looked up in this transaction. */
  readonly #hasAny = new Map<number, boolean>();
  /** By provider: the last error of this transaction that is not kept. */
  readonly #lastCounted = new Map<number, CountedError>();

  /** @param keptMax for tests */
  constructor(db: Db, stores: { tally: Tally; failures: FailureStore }, keptMax = KEPT_MAX) {
    super(db, stores);
    this.#keptMax = keptMax;
  }

  /**
   * Records that `record` could not be served, with all that the CP said of it. Removals held back are always
   * kept.
   * @param psetid the set that named it last
   */
  add(pid: number, record: UrlRecord, code: number, text: string, psetid = 0): void {
    if (!ABOUT_NO_FAILURE.includes(code)) this.stores.failures.note(pid, record, { code, text, psetid });
    this.stores.tally.error(pid);
    this.#hasAny.set(pid, true);
    const kept = this.#kept.get(pid) ?? this.#countErrors(pid, this.#keptMax);
    const isKept = code === REMOVALS_HELD || kept < this.#keptMax;
    this.#kept.set(pid, isKept ? kept + 1 : kept);
    if (isKept) this.#keep(pid, { record, code, text });
    else this.#lastCounted.set(pid, { record, code, text });
  }

  /** A url failed, and is tried again: its CP hears of it when no try is left. */
  addForNow(pid: number, url: Pick<UrlRecord, 'curl' | 'mimetype'>, failure: Failure): void {
    this.stores.failures.note(pid, url, failure);
  }

  /** Call it last in the transaction, before the tally's. */
  flush(): void {
    for (const pid of this.#lastCounted.keys()) this.#keepLastCounted(pid);
    this.reset();
  }

  /** Forgets what was collected: after a rollback. */
  reset(): void {
    this.#kept.clear();
    this.#hasAny.clear();
    this.#lastCounted.clear();
  }

  /** True if anything of a provider can be cured: it has errors that it has not received, or failures are
   * remembered. */
  mayBeCured(pid: number): boolean {
    return this.#hasAnyKept(pid) || this.stores.failures.hasAny(pid);
  }

  #hasAnyKept(pid: number): boolean {
    let found = this.#hasAny.get(pid);
    if (found === undefined) this.#hasAny.set(pid, (found = this.#countErrors(pid, 1) === 1));
    return found;
  }

  /**
   * Content of a url has come: what was wrong with it before is over, and its CP need not hear of it any
   * more. The last error kept stays while there are others that were only counted, and is shown to nobody.
   * Inside a transaction.
   */
  cured(pid: number, { curl, mimetype }: Pick<UrlRecord, 'curl' | 'mimetype'>): void {
    this.stores.failures.forget(pid, { curl, mimetype });
    if (!this.#hasAnyKept(pid)) return;
    const attrs = attrsOf({ curl, mimetype });
    // A blank or nothing comes after these two.
    for (const errseq of this.#selectOfUrl(pid, attrs, `${attrs}!`)) {
      if (this.#selectIsLastOfMany(pid, pid) === 1) return this.#markCured(errseq);
      this.#deleteError(errseq);
      this.#kept.delete(pid);
      this.#hasAny.delete(pid);
      this.#forgotten(pid, 1);
    }
  }

  /** The CP has received every error up to `errseq`: they are forgotten. Those that were only counted are
   * forgotten with the last one kept: the CP has been told their number beside it. Inside a transaction. */
  delivered(pid: number, errseq: number): void {
    this.#keepLastCounted(pid);
    const changes = this.#deleteDelivered(pid, errseq);
    this.#kept.delete(pid);
    this.#hasAny.delete(pid);
    if (changes > 0) this.#forgotten(pid, changes);
  }

  /** The last one counted takes the place of the last one kept. Its number is above all that any CP has been
   * shown: those that came after a login are not forgotten with what was shown there. */
  #keepLastCounted(pid: number): void {
    const error = this.#lastCounted.get(pid);
    if (error === undefined) return;
    this.#lastCounted.delete(pid);
    const newest = this.#selectNewest(pid);
    if (newest !== undefined) this.#deleteError(newest);
    this.#keep(pid, error);
  }

  #keep(pid: number, { record, code, text }: CountedError): void {
    this.#insertError(this.#selectLast() + 1, pid, code, text.slice(0, MAX_TEXT), attrsOf(record));
  }

  #forgotten(pid: number, count: number): void {
    if (this.#countErrors(pid, 1) === 0) this.stores.tally.forgetErrors(pid);
    this.#updateCount(pid, count, pid);
  }
}

/** As pierr keeps them: ` curl="…" mimetype="…"`, and all else that was said. */
function attrsOf(record: UrlRecord): string {
  return formatUrl(record).slice('<url'.length, -'/>\n'.length);
}
