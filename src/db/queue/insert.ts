/**
 * Putting urls into the queue, 50 rows a statement: 322 k rows/s of CPU against 173 k for json_each and fewer
 * for single rows. What a statement finds waiting already it leaves alone; that goes to `Resubmissions`.
 */
import type { Db, Statement } from '../sqlite/open.js';
import { Resubmissions } from './resubmit.js';
import { QueueFolders, type UrlPlace } from './folders.js';
import { isPlain, secondsOf, type QueuedUrl } from './row.js';

const ROWS_PER_STATEMENT = 50;
/** Folders known at a time: 8 MB of the longest urls. */
const KNOWN_FOLDERS = 1024;
/** Statements for what a small set, or the end of a large one, has: 20 urls are two. */
const ALIKE_ROWS = [ROWS_PER_STATEMENT, 16, 4, 1] as const;
/** Columns that nearly every url has. The rest is bound only where a batch has any of it. */
const COMMON = ['name', 'len', 'mtime'] as const;
const RARE = ['flags', 'subtype', 'burl', 'furl', 'md5', 'tod', 'hops'] as const;
/** Binding costs more than inserting: what all rows of a statement share is bound once, by name. */
const SHARED = ['pid', 'psetid'] as const;

/** A url that is not yet written. */
interface Pending {
  pos: number;
  place: UrlPlace;
  url: QueuedUrl;
}

export class QueueInserter {
  /** Urls of one folder at places one after the other, with nothing rare: what most are. */
  readonly #alike;
  readonly #many;
  readonly #one;
  readonly #made;
  readonly #again: Resubmissions;
  readonly #folders: QueueFolders;
  /** Ids of the folders of the set's urls, until the next flush. */
  readonly #known = new Map<string, number>();
  readonly #pending: Pending[] = [];
  #pid = 0;
  #psetid = 0;
  #isAlike = true;
  #takenOver = 0;

  constructor(db: Db) {
    const columns = [...SHARED, 'folderid', 'pos', ...COMMON];
    this.#alike = ALIKE_ROWS.map(rows => ({
      rows,
      statement: db.prepare(insert(columns, row => `@pid,@psetid,@folderid,@pos+${row},?,?,?`, rows)),
    }));
    const all = [...SHARED, 'folderid', 'pos', ...COMMON, ...RARE];
    const row = () => `@pid,@psetid,${'?,'.repeat(all.length - SHARED.length).slice(0, -1)}`;
    this.#many = db.prepare(insert(all, row, ROWS_PER_STATEMENT));
    this.#one = db.prepare(insert(all, row, 1));
    this.#made = db
      .prepare<[number, number], number>('SELECT pos FROM queued WHERE pos BETWEEN ? AND ?')
      .pluck();
    this.#folders = new QueueFolders(db);
    this.#again = new Resubmissions(db);
  }

  /** All urls between two flushes are of one set; their places ascend. */
  add(pos: number, pid: number, psetid: number, url: QueuedUrl): void {
    this.#pid = pid;
    this.#psetid = psetid;
    if (this.#known.size === KNOWN_FOLDERS) this.#known.clear();
    const place = this.#folders.of(pid, url.curl, url.mimetype, this.#known);
    const first = this.#pending[0];
    this.#isAlike &&=
      isPlain(url) &&
      (first === undefined ||
        (pos === first.pos + this.#pending.length && place.folderid === first.place.folderid));
    this.#pending.push({ pos, place, url });
    if (this.#pending.length === ROWS_PER_STATEMENT) this.#write();
  }

  /** A url that waits in its owner's name keeps its place and has these words from the next flush on. */
  again(pid: number, psetid: number, url: QueuedUrl): void {
    const place = this.#folders.of(pid, url.curl, url.mimetype, this.#known);
    this.#again.add(pid, psetid, url, place, 0);
  }

  /** True if anything of the url may not yet be written. */
  mayHold(url: QueuedUrl): boolean {
    return this.#again.pending > 0 || this.#pending.some(one => one.url.curl === url.curl);
  }

  flush(): void {
    this.#write();
    this.#known.clear();
    this.#takenOver += this.#again.flush();
  }

  /** How many urls waited before without their owner's word, and are his now, at their new places; since the
   * last time. */
  countTakenOver(): number {
    const takenOver = this.#takenOver;
    this.#takenOver = 0;
    return takenOver;
  }

  /** Forgets what is not yet written: after a rollback. */
  reset(): void {
    this.#forget();
    this.#known.clear();
    this.#again.reset();
    this.#takenOver = 0;
  }

  #write(): void {
    if (this.#isAlike) this.#writeAlike();
    else if (this.#pending.length < ROWS_PER_STATEMENT) {
      for (const one of this.#pending) this.#run(this.#one, [one]);
    } else this.#run(this.#many, this.#pending);
    this.#forget();
  }

  #writeAlike(): void {
    let from = 0;
    for (const { rows, statement } of this.#alike) {
      for (; this.#pending.length - from >= rows; from += rows) {
        const some = this.#pending.slice(from, from + rows);
        const values: unknown[] = [];
        for (const { place, url } of some) values.push(place.name, url.len, secondsOf(url.mtime));
        const shared = { folderid: some[0]?.place.folderid, pos: some[0]?.pos };
        this.#insert(statement, some, values, shared);
      }
    }
  }

  #run(statement: Statement, some: readonly Pending[]): void {
    const values: unknown[] = [];
    for (const { pos, place, url } of some) {
      const { subtype, burl, furl, md5, len, mtime, tod, flags, hops } = url;
      values.push(place.folderid, pos, place.name, len, secondsOf(mtime));
      values.push(flags, subtype, burl, furl, md5, tod, hops);
    }
    this.#insert(statement, some, values, {});
  }

  /** Those of the rows that waited already got no place: they are submitted again. */
  #insert(statement: Statement, some: readonly Pending[], values: unknown[], shared: object): void {
    const [pid, psetid] = [this.#pid, this.#psetid];
    if (statement.run(values, { ...shared, pid, psetid }).changes === some.length) return;
    const made = new Set(this.#made.all(some[0]?.pos ?? 0, some.at(-1)?.pos ?? 0));
    for (const { pos, place, url } of some) if (!made.has(pos)) this.#again.add(pid, psetid, url, place, pos);
  }

  #forget(): void {
    this.#pending.length = 0;
    this.#isAlike = true;
  }
}

/** A statement that may undo itself keeps a copy of every page it changes, with scattered keys more pages
 * than rows. One that fails here need undo nothing, for its transaction is rolled back. */
function insert(columns: readonly string[], rowOf: (row: number) => string, rows: number): string {
  const values = Array.from({ length: rows }, (_, row) => `(${rowOf(row)})`).join(',');
  return `INSERT OR FAIL INTO queued(${columns.join(',')}) VALUES ${values} ON CONFLICT(pid, folderid, name) DO NOTHING`;
}
