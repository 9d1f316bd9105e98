/**
 * Urls that wait already and are submitted again: each keeps its place; the last operation and attributes win and its
 * generation is raised. Rows are changed in the order of their places when a slice is over: each page of the table is
 * looked up and written once, however the keys are scattered.
 */
import type { Db } from '../sqlite/open.js';
import { isPlain, secondsOf, type QueuedUrl } from './row.js';
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

export class Resubmissions {
  readonly #selectPos;
  readonly #plain;
  readonly #rare;
  #pending: Resubmission[] = [];
  #psetid = 0;

  constructor(db: Db) {
    this.#selectPos = db
      .prepare<[number, string, string], number>(
        'SELECT pos FROM qdb WHERE pid = ? AND curl = ? AND mimetype = ?',
      )
      .pluck();
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
    this.#plain = update('flags = 0, subtype = NULL, burl = NULL, furl = NULL, md5 = NULL, tod = NULL');
    this.#rare = update(
      'flags = @flags, subtype = @subtype, burl = @burl, furl = @furl, md5 = @md5, tod = @tod',
    );
  }

  /** A url that waits. All between two flushes are of one set. */
  add(pid: number, psetid: number, url: QueuedUrl): void {
    const pos = this.#selectPos.get(pid, url.curl, url.mimetype);
    if (pos === undefined) throw new Error(`qdb: ${url.curl} waits and is not found`);
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

  flush(): void {
    const psetid = this.#psetid;
    // One submitted twice is there twice, and sorting keeps their order.
    for (const { rare, pos, len, mtime } of this.#pending.sort((a, b) => a.pos - b.pos)) {
      if (rare === undefined) this.#plain.run({ psetid, pos, len, mtime });
      else {
        const { flags, subtype, burl, furl, md5, tod } = rare;
        this.#rare.run({ psetid, pos, len, mtime, flags, subtype, burl, furl, md5, tod });
      }
    }
    this.reset();
  }

  /** Forgets what is not yet written: after a rollback. */
  reset(): void {
    this.#pending = [];
  }
}
