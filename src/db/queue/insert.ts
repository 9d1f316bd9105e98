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
  #positions: number[] = [];
  #places: UrlPlace[] = [];
  #urls: QueuedUrl[] = [];
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
      .prepare<[number, number], number>('SELECT pos FROM queued WHERE pos BETWEEN ? AND ? ORDER BY pos')
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
    this.#isAlike &&=
      isPlain(url) &&
      (this.#urls.length === 0 ||
        (pos === (this.#positions[0] ?? 0) + this.#urls.length &&
          place.folderid === this.#places[0]?.folderid));
    this.#positions.push(pos);
    this.#places.push(place);
    this.#urls.push(url);
    if (this.#urls.length === ROWS_PER_STATEMENT) this.#write();
  }

  /** True if anything of the url may not yet be written. */
  mayHold(url: QueuedUrl): boolean {
    return this.#again.pending > 0 || this.#urls.some(u => u.curl === url.curl);
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
    else if (this.#urls.length < ROWS_PER_STATEMENT) {
      for (let row = 0; row < this.#urls.length; row++) this.#run(this.#one, row, row + 1);
    } else this.#run(this.#many, 0, ROWS_PER_STATEMENT);
    this.#forget();
  }

  #writeAlike(): void {
    const folderid = this.#places[0]?.folderid;
    let from = 0;
    for (const { rows, statement } of this.#alike) {
      for (; this.#urls.length - from >= rows; from += rows) {
        const pos = this.#positions[from];
        const shared = { pid: this.#pid, psetid: this.#psetid, folderid, pos };
        const { changes } = statement.run(this.#commonValues(from, from + rows), shared);
        if (changes < rows) this.#resubmit(from, from + rows);
      }
    }
  }

  #run(statement: Statement, first: number, end: number): void {
    const shared = { pid: this.#pid, psetid: this.#psetid };
    const { changes } = statement.run(this.#values(first, end), shared);
    if (changes < end - first) this.#resubmit(first, end);
  }

  /** Submits again those of some rows that waited already: they got no place. */
  #resubmit(first: number, end: number): void {
    const made = this.#made.all(this.#positions[first] ?? 0, this.#positions[end - 1] ?? 0);
    let next = 0;
    for (let row = first; row < end; row++) {
      const [url, place] = [this.#urls[row], this.#places[row]];
      if (this.#positions[row] === made[next]) next++;
      else if (url !== undefined && place !== undefined)
        this.#again.add(this.#pid, this.#psetid, url, place, this.#positions[row] ?? 0);
    }
  }

  #forget(): void {
    this.#positions.length = 0;
    this.#places.length = 0;
    this.#urls.length = 0;
    this.#isAlike = true;
  }

  /** Values of some rows, in the order of COMMON. */
  #commonValues(first: number, end: number): unknown[] {
    const values: unknown[] = [];
    for (let row = first; row < end; row++) {
      const url = this.#urls[row];
      if (url === undefined) continue;
      values.push(this.#places[row]?.name, url.len, secondsOf(url.mtime));
    }
    return values;
  }

  /** Values of some rows, in the order of all columns but those bound by name. */
  #values(first: number, end: number): unknown[] {
    const values: unknown[] = [];
    for (let row = first; row < end; row++) {
      const url = this.#urls[row];
      if (url === undefined) continue;
      const { subtype, burl, furl, md5, len, mtime, tod, flags, hops } = url;
      const { folderid, name } = this.#places[row] ?? {};
      values.push(folderid, this.#positions[row], name, len, secondsOf(mtime));
      values.push(flags, subtype, burl, furl, md5, tod, hops);
    }
    return values;
  }
}

/** A statement that may undo itself keeps a copy of every page it changes, with scattered keys more pages
 * than rows. One that fails here need undo nothing, for its transaction is rolled back. */
function insert(columns: readonly string[], rowOf: (row: number) => string, rows: number): string {
  const values = Array.from({ length: rows }, (_, row) => `(${rowOf(row)})`).join(',');
  return `INSERT OR FAIL INTO queued(${columns.join(',')}) VALUES ${values} ON CONFLICT(pid, folderid, name) DO NOTHING`;
}
