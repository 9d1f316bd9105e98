/**
 * Rows of the queue read ahead, a page for each provider that is being fetched from: one query a page instead
 * of one a handful of urls. A page is what the queue says as long as nobody changes the provider's rows after
 * its first one; code that does calls `forget`. Rows that were handed out may change and go: they are not
 * looked at again here.
 */

interface Place {
  psetid: number;
  slot: number;
  pid: number;
}

interface Page<R> {
  psetid: number;
  slot: number;
  /** The place of the last row handed out. */
  after: number;
  rows: R[];
  /** The next of `rows`. */
  index: number;
}

/** Rows read at once, and kept for all providers together: with many of them, pages are shorter. */
const PAGE_ROWS = 128;
const MAX_ROWS = 8192;

export class ReadAhead<S extends Place, R extends { pos: number }> {
  readonly #read: (set: S, afterPos: number, limit: number) => R[];
  readonly #maxRows: number;
  /** By provider, the one not used for longest first. */
  readonly #pages = new Map<number, Page<R>>();
  #kept = 0;

  /** @param read rows of a set after a place, in order, fewer than `limit` only when there are no more */
  constructor(read: (set: S, afterPos: number, limit: number) => R[], maxRows = MAX_ROWS) {
    this.#read = read;
    this.#maxRows = maxRows;
  }

  /** Rows kept now. */
  get kept(): number {
    return this.#kept;
  }

  /** As `read`. */
  next(set: S, afterPos: number, limit: number): R[] {
    const page = this.#pages.get(set.pid);
    this.forget(set.pid);
    let rows: R[] = [];
    let ahead: Page<R> | undefined;
    if (page?.psetid === set.psetid && page.slot === set.slot && page.after === afterPos) {
      rows = page.rows.slice(page.index, page.index + limit);
      page.index += rows.length;
      ahead = page;
    }
    if (rows.length < limit) {
      const missing = limit - rows.length;
      const share = Math.floor(this.#maxRows / (this.#pages.size + 1));
      const fresh = this.#read(
        set,
        rows.at(-1)?.pos ?? afterPos,
        Math.max(missing, Math.min(PAGE_ROWS, share)),
      );
      rows = rows.concat(fresh.slice(0, missing));
      ahead = {
        psetid: set.psetid,
        slot: set.slot,
        after: 0,
        rows: fresh,
        index: Math.min(missing, fresh.length),
      };
    }
    if (ahead !== undefined && ahead.index < ahead.rows.length) {
      ahead.after = rows.at(-1)?.pos ?? afterPos;
      this.#keep(set.pid, ahead);
    }
    return rows;
  }

  /** The provider's rows have changed. */
  forget(pid: number): void {
    const page = this.#pages.get(pid);
    if (page === undefined) return;
    this.#pages.delete(pid);
    this.#kept -= page.rows.length - page.index;
  }

  #keep(pid: number, page: Page<R>): void {
    this.#pages.set(pid, page);
    this.#kept += page.rows.length - page.index;
    for (const oldest of this.#pages.keys()) {
      if (this.#kept <= this.#maxRows) return;
      this.forget(oldest);
    }
  }
}
