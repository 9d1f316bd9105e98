/** The last failure of each url that its owner announced (table `failure`), for those who ask what became of
 * it: kept when its CP has received it, too. All methods run inside the caller's transaction. */
import type { UrlRecord } from '../../wire/url.js';
import { placeOf } from '../queue/folders.js';
import type { Db } from '../sqlite/open.js';
import { SqlStore } from '../sqlite/sql-store.js';

/** Most bytes of a message that are kept. */
const MAX_TEXT = 300;
/** Rows of a provider; the oldest go. */
export const FAILURES_KEPT = 10_000;

type Url = Pick<UrlRecord, 'curl' | 'mimetype'>;

export interface Failure {
  code: number;
  text: string;
  /** The set that named the url last, 0 = none. */
  psetid: number;
}

export class FailureStore extends SqlStore {
  readonly #insert = this.sql.run<[values: Url & Failure & { pid: number; atS: number }]>(
    `INSERT OR REPLACE INTO failure(pid, curl, mimetype, psetid, code, text, at)
     VALUES ($pid, $curl, $mimetype, $psetid, $code, $text, $atS)`,
  );
  readonly #delete = this.sql.changed<[pid: number, curl: string, mimetype: string, upTo: number]>(
    'DELETE FROM failure WHERE pid = ? AND curl = ? AND mimetype = ? AND psetid <= ?',
  );
  readonly #deleteOldest = this.sql.run<[values: { pid: number; kept: number }]>(
    `DELETE FROM failure WHERE pid = $pid AND id <=
       (SELECT id FROM failure INDEXED BY failure_oldest WHERE pid = $pid ORDER BY id DESC LIMIT 1 OFFSET $kept)`,
  );
  readonly #has = this.sql.has<[pid: number]>('SELECT 1 FROM failure WHERE pid = ? LIMIT 1');
  readonly #pageEnd = this.sql.value<[pid: number, after: number, rows: number], number>(
    'SELECT max(id) FROM (SELECT id FROM failure WHERE pid = ? AND id > ? ORDER BY id LIMIT ?)',
  );
  // A url that is wanted as served may be held as what was served.
  readonly #deleteUnnamed = this.sql.run<
    [values: { pid: number; after: number; to: number; psetid: number }]
  >(
    `DELETE FROM failure WHERE pid = $pid AND id > $after AND id <= $to AND psetid < $psetid
       AND NOT EXISTS(SELECT 1 FROM queued WHERE op = 1
         AND pos = ${placeOf('failure.pid', 'failure.curl', 'failure.mimetype')})
       AND NOT EXISTS(SELECT 1 FROM lccurl AS l WHERE (l.pid, l.curl) = (failure.pid, failure.curl)
         AND (l.mimetype = failure.mimetype OR l.served))`,
  );
  readonly #kept: number;
  readonly #nowS: () => number;
  /** By provider: whether there are any, where that was looked up in this transaction. */
  readonly #hasAny = new Map<number, boolean>();
  /** Providers of which some were noted in this transaction. */
  readonly #noted = new Set<number>();

  /** @param kept rows of a provider */
  constructor(db: Db, nowS: () => number, kept = FAILURES_KEPT) {
    super(db);
    this.#nowS = nowS;
    this.#kept = kept;
  }

  /** A url has failed, for good or until it is tried again. */
  note(pid: number, { curl, mimetype }: Url, { code, text, psetid }: Failure): void {
    this.#insert({ pid, curl, mimetype, psetid, code, text: text.slice(0, MAX_TEXT), atS: this.#nowS() });
    this.#hasAny.set(pid, true);
    this.#noted.add(pid);
  }

  hasAny(pid: number): boolean {
    let found = this.#hasAny.get(pid);
    if (found === undefined) this.#hasAny.set(pid, (found = this.#has(pid)));
    return found;
  }

  /** The content has come, or its owner has deleted it. @param upTo the set that did: a later one may have
   * named it again */
  forget(pid: number, { curl, mimetype }: Url, upTo = Number.MAX_SAFE_INTEGER): void {
    if (this.hasAny(pid) && this.#delete(pid, curl, mimetype, upTo)) this.#hasAny.delete(pid);
  }

  /** Forgets urls that a full set has not named, a page a step: what waits or is held was named. @param rows
   * of the next page */
  *forgetUnnamed(pid: number, psetid: number, rows: () => number): Generator<number, void> {
    for (let after = 0; ;) {
      const to = this.#pageEnd(pid, after, rows());
      if (to === undefined) return;
      this.#deleteUnnamed({ pid, after, to, psetid });
      this.#hasAny.delete(pid);
      after = to;
      yield 0;
    }
  }

  /** Call it at the end of the transaction. */
  flush(): void {
    for (const pid of this.#noted) this.#deleteOldest({ pid, kept: this.#kept });
    this.reset();
  }

  /** Forgets what was looked up: after a rollback. */
  reset(): void {
    this.#hasAny.clear();
    this.#noted.clear();
  }
}
