/**
 * Putting urls into the queue, 50 rows a statement: 322 k rows/s of CPU against 173 k for json_each and fewer for single
 * rows. A url that waits already keeps its place; the last operation and attributes win and its generation is raised.
 */
import type { Db } from '../open.js';
import { secondsOfPrinted } from '../../wire/mtime.js';
import { waitingSum } from '../sums.js';
import type { QueuedUrl } from './row.js';
import { LOOK_SLOT } from './slots.js';

const ROWS_PER_STATEMENT = 50;
/** Statements for what a small set, or the end of a large one, has: 20 urls are two. */
const ALIKE_ROWS = [ROWS_PER_STATEMENT, 16, 4, 1] as const;
/** What nearly every url has. The rest is bound only where a batch has any of it. */
const COMMON = ['curl', 'len', 'mtime', 'sum'] as const;
const RARE = ['flags', 'subtype', 'burl', 'furl', 'md5', 'tod'] as const;
/** Binding costs more than inserting: what all rows of a statement share is bound once, by name. */
const SHARED = ['pid', 'psetid'] as const;

/**
 * Of a waiting url nothing survives but its place; one that failed before stays at the end of its set. One that waits for
 * a time slot may have other hours now: they are looked at.
 */
const UPSERT = `ON CONFLICT(pid, curl, mimetype) DO UPDATE SET
  gen = gen + 1, op = 1, tries = min(tries, 1), named = excluded.psetid, flags = excluded.flags,
  subtype = excluded.subtype, burl = excluded.burl, furl = excluded.furl, md5 = excluded.md5, len = excluded.len,
  mtime = excluded.mtime, tod = excluded.tod, sum = excluded.sum,
  slot = CASE WHEN slot < 0 THEN slot ELSE ${LOOK_SLOT} END`;

export class QueueInserter {
  /** Urls of one mimetype at places one after the other, with nothing rare: what nearly all are. */
  readonly #alike;
  readonly #many;
  readonly #one;
  #positions: number[] = [];
  #urls: QueuedUrl[] = [];
  #pid = 0;
  #psetid = 0;
  #isAlike = true;

  constructor(db: Db) {
    const columns = [...SHARED, 'mimetype', 'pos', ...COMMON];
    this.#alike = ALIKE_ROWS.map(rows => ({
      rows,
      statement: db.prepare(upsert(columns, row => `@pid,@psetid,@mimetype,@pos+${row},?,?,?,?`, rows)),
    }));
    const all = [...SHARED, 'mimetype', 'pos', ...COMMON, ...RARE];
    const row = () => `@pid,@psetid,${'?,'.repeat(all.length - SHARED.length).slice(0, -1)}`;
    this.#many = db.prepare(upsert(all, row, ROWS_PER_STATEMENT));
    this.#one = db.prepare(upsert(all, row, 1));
  }

  /** All urls between two flushes are of one set. */
  add(pos: number, pid: number, psetid: number, url: QueuedUrl): void {
    this.#pid = pid;
    this.#psetid = psetid;
    this.#isAlike &&=
      url.flags === 0 &&
      url.md5 === null &&
      url.subtype === null &&
      url.burl === null &&
      url.furl === null &&
      url.tod === null &&
      (this.#urls.length === 0 ||
        (pos === (this.#positions[0] ?? 0) + this.#urls.length && url.mimetype === this.#urls[0]?.mimetype));
    this.#positions.push(pos);
    this.#urls.push(url);
    if (this.#urls.length === ROWS_PER_STATEMENT) this.flush();
  }

  /** Whether the url is among those not yet written. */
  holds(url: QueuedUrl): boolean {
    return this.#urls.some(u => u.curl === url.curl && u.mimetype === url.mimetype);
  }

  flush(): void {
    const shared = { pid: this.#pid, psetid: this.#psetid };
    if (this.#isAlike) {
      this.#flushAlike();
    } else if (this.#urls.length < ROWS_PER_STATEMENT) {
      for (let row = 0; row < this.#urls.length; row++) this.#one.run(this.#values(row, row + 1), shared);
    } else {
      this.#many.run(this.#values(0, ROWS_PER_STATEMENT), shared);
    }
    this.reset();
  }

  #flushAlike(): void {
    const mimetype = this.#urls[0]?.mimetype;
    let from = 0;
    for (const { rows, statement } of this.#alike) {
      for (; this.#urls.length - from >= rows; from += rows) {
        const pos = this.#positions[from];
        statement.run(this.#commonValues(from, from + rows), {
          pid: this.#pid,
          psetid: this.#psetid,
          mimetype,
          pos,
        });
      }
    }
  }

  /** Forgets what is not yet written: after a rollback. */
  reset(): void {
    this.#positions.length = 0;
    this.#urls.length = 0;
    this.#isAlike = true;
  }

  /** Of some rows, in the order of COMMON. */
  #commonValues(first: number, end: number): unknown[] {
    const values: unknown[] = [];
    for (let row = first; row < end; row++) {
      const url = this.#urls[row];
      if (url === undefined) continue;
      values.push(url.curl, url.len, secondsOf(url.mtime), waitingSum(this.#pid, url));
    }
    return values;
  }

  /** Of some rows, in the order of all columns but those bound by name. */
  #values(first: number, end: number): unknown[] {
    const values: unknown[] = [];
    for (let row = first; row < end; row++) {
      const url = this.#urls[row];
      if (url === undefined) continue;
      const { curl, mimetype, subtype, burl, furl, md5, len, mtime, tod, flags } = url;
      const sum = waitingSum(this.#pid, url);
      values.push(mimetype, this.#positions[row], curl, len, secondsOf(mtime), sum);
      values.push(flags, subtype, burl, furl, md5, tod);
    }
    return values;
  }
}

function secondsOf(mtime: string | null): number | null {
  return mtime === null ? null : secondsOfPrinted(mtime);
}

function upsert(columns: readonly string[], rowOf: (row: number) => string, rows: number): string {
  const values = Array.from({ length: rows }, (_, row) => `(${rowOf(row)})`).join(',');
  return `INSERT INTO qdb(${columns.join(',')}) VALUES ${values} ${UPSERT}`;
}
