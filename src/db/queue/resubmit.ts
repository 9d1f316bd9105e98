/**
 * Urls that wait already and are submitted again: each keeps its place; the last operation and attributes win
 * and its generation is raised. Rows are changed in the order of their places when a slice is over: each page
 * of the table is looked up and written once, however the keys are scattered.
 */
import type { Db } from '../sqlite/open.js';
import { SqlStore } from '../sqlite/sql-store.js';
import type { UrlPlace } from './folders.js';
import { isPlain, secondsOf, UNASKED, type QueuedUrl } from './row.js';
import { NOW_SLOT } from './sets.js';
import { LOOK_SLOT } from './slots.js';

/** Values that the row will have. There may be as many as a slice has urls: without texts they are small. */
interface Resubmission {
  pos: number;
  /** Place of a url that nobody had announced before: then it is its owner's from now on. */
  place: number;
  len: number | null;
  /** Seconds since 1970. */
  mtime: number | null;
  /** Where there is anything else to say. */
  rare: QueuedUrl | undefined;
}

/** Values of a url of which nothing rare is said. */
const PLAIN = { flags: 0, subtype: null, burl: null, furl: null, md5: null, tod: null };

export class Resubmissions extends SqlStore {
  // A look at the index alone: one at the row of each, in the order of their keys, costs a twelfth of the
  // absorption.
  readonly #selectPos = this.sql.number<[pid: number, folderid: number, name: string]>(
    'SELECT pos FROM queued WHERE pid = ? AND folderid = ? AND name = ?',
  );
  // As if it had not waited, but that what is on its way for it does not count.
  readonly #takeOver = this.sql.run<unknown[]>(
    `UPDATE OR FAIL queued SET pos = @to, psetid = @psetid, named = NULL, gen = gen + 1, op = 1, tries = 0, slot = ${NOW_SLOT},
       flags = @flags, subtype = @subtype, burl = @burl, furl = @furl, md5 = @md5, len = @len, mtime = @mtime, tod = @tod, hops = NULL
     WHERE pos = @pos`,
  );
  readonly #plain;
  readonly #rare;
  #pending: Resubmission[] = [];
  #psetid = 0;

  constructor(db: Db) {
    super(db);
    // A waiting url keeps nothing but its place; one that failed before stays at the end of its set. One that
    // waits for a time slot may have other hours now: they are looked at.
    // safeguard: the first position being kept
    const update = (rare: string) =>
      this.sql.changes<unknown[]>(
        `UPDATE OR FAIL queued SET
           gen = gen + 1, op = 1, tries = min(tries, 1), named = @psetid, len = @len, mtime = @mtime,
           slot = CASE WHEN slot < 0 THEN slot ELSE ${LOOK_SLOT} END, ${rare}
         WHERE pos = @pos AND flags & ${UNASKED} = 0`,
      );
    this.#plain = update(
      'flags = 0, subtype = NULL, burl = NULL, furl = NULL, md5 = NULL, tod = NULL, hops = NULL',
    );
    this.#rare = update(
      'flags = @flags, subtype = @subtype, burl = @burl, furl = @furl, md5 = @md5, tod = @tod, hops = @hops',
    );
  }

  /** A url that waits. All between two flushes are of one set. @param place of a row of its own, which it did
   * not get */
  add(pid: number, psetid: number, url: QueuedUrl, { folderid, name }: UrlPlace, place: number): void {
    const pos = this.#selectPos(pid, folderid, name);
    if (pos === 0) throw new Error(`qdb: ${url.curl} waits and is not found`);
    this.#psetid = psetid;
    const { len, mtime } = url;
    const rare = isPlain(url) ? undefined : url;
    this.#pending.push({ pos, place, len, mtime: secondsOf(mtime), rare });
  }

  /** Urls that are not yet written. */
  get pending(): number {
    return this.#pending.length;
  }

  /** @returns how many urls nobody had announced before: they are their owner's now */
  flush(): number {
    let takenOver = 0;
    // One submitted twice is there twice, and sorting keeps their order.
    let moved: Pick<Resubmission, 'pos' | 'place'> | undefined;
    for (const row of this.#pending.sort((a, b) => a.pos - b.pos)) {
      const pos = row.pos === moved?.pos ? moved.place : row.pos;
      if (this.#update(row, pos)) continue;
      this.#takeOverRow(row);
      moved = row;
      takenOver++;
    }
    this.reset();
    return takenOver;
  }

  /** @returns false where nobody has announced it before */
  #update({ rare, len, mtime }: Resubmission, pos: number): boolean {
    const psetid = this.#psetid;
    if (rare === undefined) return this.#plain({ psetid, pos, len, mtime }) > 0;
    const { flags, subtype, burl, furl, md5, tod, hops } = rare;
    return this.#rare({ psetid, pos, len, mtime, flags, subtype, burl, furl, md5, tod, hops }) > 0;
  }

  #takeOverRow({ pos, place, len, mtime, rare }: Resubmission): void {
    const { flags, subtype, burl, furl, md5, tod } = rare ?? PLAIN;
    const psetid = this.#psetid;
    this.#takeOver({ psetid, pos, to: place, flags, subtype, burl, furl, md5, len, mtime, tod });
  }

  /** Forgets what is not yet written: after a rollback. */
  reset(): void {
    this.#pending = [];
  }
}
