/**
 * Urls that wait already and are submitted again: each keeps its place; the last operation and attributes win and its
 * generation is raised. Rows are changed in the order of their places when a slice is over: each page of the table is
 * looked up and written once, however the keys are scattered.
 */
import type { Db } from '../sqlite/open.js';
import { SqlStore } from '../sqlite/sql-store.js';
import { isPlain, secondsOf, UNASKED, type QueuedUrl } from './row.js';
import { NOW_SLOT } from './sets.js';
import { LOOK_SLOT } from './slots.js';

/** What the row will say. There may be as many as a slice has urls: without texts they are small. */
interface Resubmission {
  pos: number;
  len: number | null;
  /** Seconds since 1970. */
  mtime: number | null;
  /** Where there is anything else to say. */
  rare: QueuedUrl | undefined;
}

export class Resubmissions extends SqlStore {
  readonly #selectPos = this.db
    .prepare<[number, string, string], [pos: number, flags: number]>(
      'SELECT pos, flags FROM qdb WHERE pid = ? AND curl = ? AND mimetype = ?',
    )
    .raw();
  // As if it had not waited, but that what is on its way for it does not count.
  readonly #takeOver = this.sql.run<unknown[]>(
    `UPDATE OR FAIL qdb SET pos = @to, psetid = @psetid, named = NULL, gen = gen + 1, op = 1, tries = 0, slot = ${NOW_SLOT},
       flags = @flags, subtype = @subtype, burl = @burl, furl = @furl, md5 = @md5, len = @len, mtime = @mtime, tod = @tod, hops = NULL
     WHERE pos = @pos`,
  );
  readonly #plain;
  readonly #rare;
  #pending: Resubmission[] = [];
  #psetid = 0;
  #takenOver = 0;

  constructor(db: Db) {
    super(db);
    // A waiting url keeps nothing but its place; one that failed before stays at the end of its set. One that waits
    // for a time slot may have other hours now: they are looked at.
    // safeguard: the first position being kept
    const update = (rare: string) =>
      db.prepare(
        `UPDATE OR FAIL qdb SET
           gen = gen + 1, op = 1, tries = min(tries, 1), named = @psetid, len = @len, mtime = @mtime,
           slot = CASE WHEN slot < 0 THEN slot ELSE ${LOOK_SLOT} END, ${rare}
         WHERE pos = @pos`,
      );
    this.#plain = update(
      'flags = 0, subtype = NULL, burl = NULL, furl = NULL, md5 = NULL, tod = NULL, hops = NULL',
    );
    this.#rare = update(
      'flags = @flags, subtype = @subtype, burl = @burl, furl = @furl, md5 = @md5, tod = @tod, hops = @hops',
    );
  }

  /**
   * A url that waits. All between two flushes are of one set.
   * @param place that it has where nobody had announced it before: then it is its owner's from now on
   */
  add(pid: number, psetid: number, url: QueuedUrl, place: number): void {
    const found = this.#selectPos.get(pid, url.curl, url.mimetype);
    if (found === undefined) throw new Error(`qdb: ${url.curl} waits and is not found`);
    const [pos, flags] = found;
    if ((flags & UNASKED) !== 0) {
      const { flags: said, subtype, burl, furl, md5, len, tod } = url;
      const mtime = secondsOf(url.mtime);
      this.#takeOver({ psetid, pos, to: place, flags: said, subtype, burl, furl, md5, len, mtime, tod });
      this.#takenOver++;
      return;
    }
    this.#psetid = psetid;
    const { len, mtime } = url;
    this.#pending.push({
      pos,
      len,
      mtime: secondsOf(mtime),
      rare: isPlain(url) ? undefined : url,
    });
  }

  /** Urls that are not yet written. */
  get pending(): number {
    return this.#pending.length;
  }

  /** @returns how many urls were taken over since the last time */
  flush(): number {
    const takenOver = this.#takenOver;
    const psetid = this.#psetid;
    // One submitted twice is there twice, and sorting keeps their order.
    for (const { rare, pos, len, mtime } of this.#pending.sort((a, b) => a.pos - b.pos)) {
      if (rare === undefined) this.#plain.run({ psetid, pos, len, mtime });
      else {
        const { flags, subtype, burl, furl, md5, tod, hops } = rare;
        this.#rare.run({ psetid, pos, len, mtime, flags, subtype, burl, furl, md5, tod, hops });
      }
    }
    this.reset();
    return takenOver;
  }

  /** Forgets what is not yet written: after a rollback. */
  reset(): void {
    this.#pending = [];
    this.#takenOver = 0;
  }
}
