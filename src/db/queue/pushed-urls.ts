/** Urls of a push (docs/design/push.md): something happened to a page. Each row that is held of it is looked
 * at by its own fetch URL; where none is held, the page itself. Of the rows that a url leads to the first
 * has the place of the url, the others are a set of their own. All methods run inside the caller's
 * transaction. */
import type { SetClass } from '../../wire/origin.js';
import { AS_SERVED } from '../../wire/url.js';
import type { ContentStore, Held } from '../cache/content.js';
import type { Tally } from '../cache/tally.js';
import { Counter } from '../sqlite/counters.js';
import type { Db } from '../sqlite/open.js';
import { SqlStore } from '../sqlite/sql-store.js';
import type { QueueInserter } from './insert.js';
import { hasRoomForPushed } from './quota.js';
import { FLAG_IFABSENT, FLAG_PUSH, UNASKED, type QueuedUrl } from './row.js';
import { NOW_SLOT, type QueueReader, type WaitingSet } from './sets.js';

/** Rows of one page that are looked at. */
const MAX_VIEWS = 64;

/** A row that has to be put into the queue. */
export interface PushedRow {
  url: QueuedUrl;
  /** Undefined: nothing is held of the page. */
  held: Held | undefined;
}

interface Waiting {
  pos: number;
  op: 0 | 1;
  flags: number;
}

export class PushedUrls extends SqlStore {
  readonly #content: ContentStore;
  readonly #queue: QueueReader;
  readonly #tally: Tally;
  readonly #psetids: Counter;
  readonly #places: Counter;
  readonly #views = this.sql.values<[pid: number, curl: string], number>(
    `SELECT id FROM lccurl WHERE pid = ? AND curl = ? ORDER BY mimetype LIMIT ${MAX_VIEWS}`,
  );
  readonly #waiting = this.sql.row<[pid: number, curl: string, mimetype: string], Waiting>(
    'SELECT pos, op, flags FROM qdb WHERE pid = ? AND curl = ? AND mimetype = ?',
  );
  // A request on its way was sent before this happened.
  readonly #again = this.sql.run<[pos: number]>('UPDATE qdb SET gen = gen + 1 WHERE pos = ?');
  readonly #ownersAgain = this.sql.changes<[pid: number, curl: string]>(
    `UPDATE qdb SET gen = gen + 1 WHERE pid = ? AND curl = ? AND op = 1 AND flags & ${UNASKED} = 0`,
  );

  constructor(db: Db, stores: { content: ContentStore; queue: QueueReader; tally: Tally }) {
    super(db);
    this.#content = stores.content;
    this.#queue = stores.queue;
    this.#tally = stores.tally;
    this.#psetids = new Counter(db, 'psetid');
    this.#places = new Counter(db, 'pos');
  }

  /** The rows that a url leads to and that do not wait; those that wait are fetched as of now. */
  rowsOf(pid: number, url: QueuedUrl): PushedRow[] {
    const views = this.#rowsHeld(pid, url.curl);
    // The owner has just announced it, as whatever type.
    if (views.length === 0 && this.#ownersAgain(pid, url.curl) > 0) return [];
    const rows: PushedRow[] =
      views.length === 0
        ? [{ url, held: undefined }]
        : views.map(held => ({ url: { ...url, mimetype: typeOf(held), furl: held.givenfurl }, held }));
    return rows.filter(row => !this.waits(pid, row.url));
  }

  /**
   * The rows that an owner means who announces a page as served, and not from where: those that he has given
   * types and fetch URLs, or several of.
   */
  viewsOf(pid: number, url: QueuedUrl): PushedRow[] {
    if (url.mimetype !== AS_SERVED || url.furl !== null || (url.flags & FLAG_IFABSENT) !== 0) return [];
    const views = this.#rowsHeld(pid, url.curl);
    if (views.length < 2 && views.every(({ givenfurl }) => givenfurl === null)) return [];
    return views.map(held => {
      const { mimetype, subtype, burl, givenfurl: furl } = held;
      return { url: { ...url, mimetype, subtype, burl, furl }, held };
    });
  }

  #rowsHeld(pid: number, curl: string): Held[] {
    return this.#views(pid, curl).flatMap(id => this.#content.row(id) ?? []);
  }

  /** True if a row waits, which is fetched as of now then. */
  waits(pid: number, { curl, mimetype }: QueuedUrl): boolean {
    const waiting = this.#waiting(pid, curl, mimetype);
    if (waiting === undefined) return false;
    const { pos, op, flags } = waiting;
    if (op === 1 && ((flags & UNASKED) === 0 || (flags & FLAG_PUSH) !== 0)) {
      this.#again(pos);
      return true;
    }
    // A crawl or a delete has left it there.
    this.#queue.drop({ pos, pid });
    return false;
  }

  /** True if a page may come that only a push has named. */
  hasRoom(pid: number): boolean {
    const use = this.#tally.use(pid);
    return use !== undefined && hasRoomForPushed(use, 1, 0);
  }

  /** Makes a set of further rows, which do not wait. @param insert has nothing pending */
  setOf(
    pid: number,
    urls: readonly QueuedUrl[],
    setClass: SetClass,
    insert: QueueInserter,
  ): WaitingSet | undefined {
    if (urls.length === 0) return undefined;
    const psetid = this.#psetids.take();
    const firstpos = this.#places.take(urls.length);
    urls.forEach((url, index) => insert.add(firstpos + index, pid, psetid, url));
    insert.flush();
    this.#tally.waiting(pid, urls.length);
    const lastpos = firstpos + urls.length - 1;
    const set = { psetid, slot: NOW_SLOT, pid, firstpos, lastpos, class: setClass };
    this.#queue.addSet(set);
    return set;
  }
}

function typeOf({ mimetype, served }: Held): string {
  return served === 1 ? AS_SERVED : mimetype;
}
