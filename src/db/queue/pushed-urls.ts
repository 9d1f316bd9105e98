/** Urls of a push (docs/design/push.md): something happened to a page. Each row that is held of it is looked
 * at by its own fetch URL; where none is held, the page itself. Of the rows that a url leads to the first
 * has the place of the url, the others are a set of their own. All methods run inside the caller's
 * transaction. */
import { AS_SERVED } from '../../wire/url.js';
import type { ContentStore, Held } from '../cache/content.js';
import type { Tally } from '../cache/tally.js';
import { JointStore } from '../sqlite/sql-store.js';
import { placesOf } from './folders.js';
import { hasRoomForPushed } from './quota.js';
import { FLAG_IFABSENT, FLAG_PUSH, FLAG_SLOW, typeAsked, UNASKED, type QueuedUrl } from './row.js';
import type { QueueReader } from './sets.js';

/** Rows of one page that are looked at. */
const MAX_VIEWS = 64;

/** A row that has to be put into the queue. */
export interface PushedRow {
  url: QueuedUrl;
  /** Undefined: nothing is held of the page. */
  held: Held | undefined;
}

export class PushedUrls extends JointStore<{ content: ContentStore; queue: QueueReader; tally: Tally }> {
  readonly #views = this.sql.values<[pid: number, curl: string], number>(
    `SELECT id FROM lccurl WHERE pid = ? AND curl = ? ORDER BY mimetype LIMIT ${MAX_VIEWS}`,
  );
  // A request on its way was sent before this happened.
  readonly #again = this.sql.run<[pos: number]>('UPDATE queued SET gen = gen + 1 WHERE pos = ?');
  readonly #ownersAgain = this.sql.changes<[pid: number, curl: string]>(
    `UPDATE queued SET gen = gen + 1 WHERE pos IN ${placesOf()} AND op = 1 AND flags & ${UNASKED} = 0`,
  );

  /** The rows that a url leads to and that do not wait; those that wait are fetched as of now. */
  rowsOf(pid: number, url: QueuedUrl): PushedRow[] {
    const views = this.#rowsHeld(pid, url.curl);
    if (views.length > 0 && (url.flags & FLAG_IFABSENT) !== 0) return [];
    // The owner has just announced it, as whatever type.
    if (views.length === 0 && this.#ownersAgain(pid, url.curl) > 0) return [];
    const rows: PushedRow[] =
      views.length === 0
        ? [{ url: { ...url, flags: url.flags & ~FLAG_IFABSENT }, held: undefined }]
        : views.map(held => ({ url: { ...url, mimetype: typeAsked(held), furl: held.givenfurl }, held }));
    return rows.filter(row => !this.#waits(pid, row.url));
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
    return this.#views(pid, curl).flatMap(id => this.stores.content.row(id) ?? []);
  }

  /** True if a row waits, which is fetched as of now then. */
  #waits(pid: number, { curl, mimetype, flags: own }: QueuedUrl): boolean {
    const waiting = this.stores.queue.waiting(pid, curl, mimetype);
    if (waiting === undefined) return false;
    const { pos, op, flags } = waiting;
    // One of a door whose pushes are worth little keeps none of another door waiting.
    const isSlower = (flags & FLAG_SLOW) !== 0 && (own & FLAG_SLOW) === 0;
    if (op === 1 && ((flags & UNASKED) === 0 || ((flags & FLAG_PUSH) !== 0 && !isSlower))) {
      this.#again(pos);
      return true;
    }
    // A crawl, a delete or a slow push has left it there.
    this.stores.queue.drop({ pos, pid });
    return false;
  }

  /** True if a page may come that only a push has named. */
  hasRoom(pid: number): boolean {
    const use = this.stores.tally.use(pid);
    return use !== undefined && hasRoomForPushed(use, 1, 0);
  }
}
