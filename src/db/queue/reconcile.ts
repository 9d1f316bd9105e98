/**
 * Removal of what a full set does not name (semantics.md, rule 5): content of the provider, and urls that
 * wait, whose last set is older. Rows carry that set, so memory is that of one page however large the set
 * was. Found in the order of keys, a range of keys a step, so that neither a million rows that stay nor a
 * million that go are one long step. Cut off anywhere, it begins again and finds less. What is held of a root
 * that was given up is no business of a full set.
 */
import type { ContentStore } from '../cache/content.js';
import type { FailureStore } from '../cache/failures.js';
import type { Tally } from '../cache/tally.js';
import { GivenRoots } from '../providers/given-roots.js';
import { pagesAfter } from '../sqlite/paging.js';
import { JointStore } from '../sqlite/sql-store.js';
import type { LeftOver } from './held-removals.js';
import { NO_FOLDER, placesOf } from './folders.js';
import { isSameUrl, UNASKED } from './row.js';
import type { QueueReader } from './sets.js';

/** A number, a text, or a blob, which SQLite sorts after every number and text. */
type Bound = number | string | Buffer;

/** Where a row is in the order of its table: of content curl and mimetype, in the queue folder and name. */
interface Key {
  major: Bound;
  minor: Bound;
}

const FIRST: Key = { major: '', minor: '' };
const FIRST_FOLDER: Key = { major: NO_FOLDER, minor: '' };
const LAST: Key = { major: Buffer.alloc(0), minor: Buffer.alloc(0) };
/** Rows looked at in one step: some milliseconds, even from a cold disk cache. */
const RANGE_ROWS = 4000;
/** End of a range without an end, as SQLite has a limit. */
const ALL = -1;

type InRange = [pid: number, fromMajor: Bound, fromMinor: Bound, toMajor: Bound, toMinor: Bound];

interface UnnamedContent extends Key {
  major: string;
  minor: string;
  furl: string;
}

interface UnnamedRow extends Key {
  pos: number;
  /** True if its removal is not counted with that of its content. */
  counts: 0 | 1;
}

const CONTENT_KEY = 'curl, mimetype';
const ROWS_KEY = 'folderid, name';
const rangeOf = (key: string) => `pid = ? AND (${key}) > (?, ?) AND (${key}) <= (?, ?)`;
/** In the place of a set's number: all that the provider has, what nobody announced too. */
export const EVERYTHING = Number.MAX_SAFE_INTEGER;
/** Urls that nobody announced are no business of a full set: a crawl goes on beside it. The parameter is
 * psetid. */
const OWNERS_ROW = `(flags & ${UNASKED} = 0 OR ? = ${EVERYTHING})`;

// Where the set is one that was held, later ones may have named the url.
// safeguard: leaving alone what later sets named when held removals are released
const UNNAMED = `${rangeOf(CONTENT_KEY)} AND psetid < ? AND (hops IS NULL OR ? = ${EVERYTHING}) AND NOT EXISTS(SELECT 1 FROM qdb AS q
  WHERE q.pos IN ${placesOf('lccurl.pid', 'lccurl.curl')} AND ${isSameUrl('q', 'lccurl')}
  AND q.flags & ${UNASKED} = 0 AND coalesce(q.named, q.psetid) >= ?)`;

interface ReconciledStores {
  queue: QueueReader;
  content: ContentStore;
  failures: FailureStore;
  tally: Tally;
}

export class Reconciler extends JointStore<ReconciledStores> {
  readonly #given = new GivenRoots(this.db);
  readonly #rowsEnd = this.sql.row<[pid: number, major: Bound, minor: Bound], Key>(
    rangeEnd('queued', ROWS_KEY),
  );
  readonly #contentEnd = this.sql.row<[pid: number, major: Bound, minor: Bound], Key>(
    rangeEnd('lccurl', CONTENT_KEY),
  );
  // A row that waited for nothing was counted when its delete came.
  readonly #selectUnnamedRows = this.sql.rows<
    [...range: InRange, ofPsetid: number, psetid: number, limit: number],
    UnnamedRow
  >(
    `SELECT pos, folderid AS major, name AS minor, op = 1 AND NOT EXISTS(SELECT 1 FROM qdb JOIN lccurl AS l
       ON (l.pid, l.curl) = (qdb.pid, qdb.curl) AND ${isSameUrl('qdb', 'l')} WHERE qdb.pos = queued.pos) AS counts
     FROM queued WHERE ${rangeOf(ROWS_KEY)} AND ${OWNERS_ROW} AND coalesce(named, psetid) < ? ORDER BY ${ROWS_KEY} LIMIT ?`,
  );
  readonly #waits = this.sql.has<[...range: InRange, ofPsetid: number, psetid: number]>(
    `SELECT 1 FROM queued WHERE ${rangeOf(ROWS_KEY)} AND ${OWNERS_ROW} AND op = 1 AND coalesce(named, psetid) < ? LIMIT 1`,
  );
  readonly #dropRow = this.sql.run<[pos: number]>('DELETE FROM queued WHERE pos = ?');
  readonly #selectUnnamedContents = this.sql.rows<
    [...range: InRange, psetid: number, ofPsetid: number, named: number, limit: number],
    UnnamedContent
  >(
    `SELECT curl AS major, mimetype AS minor, furl FROM lccurl WHERE ${UNNAMED} ORDER BY ${CONTENT_KEY} LIMIT ?`,
  );
  readonly #countUnnamed = this.sql.number<
    [...range: InRange, psetid: number, ofPsetid: number, named: number]
  >(`SELECT count(*) FROM lccurl WHERE ${UNNAMED}`);

  /** Counts the content that `run` would remove, a range a step; nothing is changed. Yields the count of the
   * range. */
  *count(pid: number, psetid: number): Generator<number, void> {
    for (const [from, to] of ranges(this.#contentEnd, pid, FIRST)) {
      const range = [...between(pid, from, to), psetid, psetid, psetid] as const;
      const isKept = this.#given.keeperOf(pid);
      if (isKept === undefined) yield this.#countUnnamed(...range);
      else yield this.#selectUnnamedContents(...range, ALL).filter(({ furl }) => !isKept(furl)).length;
    }
  }

  /** Counts the rows that `run` would remove, queue first as there: a url fetched meanwhile is then content.
   * Nothing is changed. */
  *left(pid: number, psetid: number): Generator<LeftOver, void> {
    for (const [from, to] of ranges(this.#rowsEnd, pid, FIRST_FOLDER))
      yield { content: 0, waits: this.#waits(...between(pid, from, to), psetid, psetid) };
    for (const content of this.count(pid, psetid)) yield { content, waits: false };
  }

  /**
   * Removes what was last named before set `psetid`, or `EVERYTHING`, queue first, so that nothing that is
   * being fetched comes back; at most `rows()` in a step, outside of which the caller commits. Yields how
   * many urls were removed.
   */
  *run(pid: number, psetid: number, rows: () => number, nowS: () => number): Generator<number, void> {
    for (const range of ranges(this.#rowsEnd, pid, FIRST_FOLDER))
      yield* this.#dropRows(pid, psetid, range, rows);
    for (const range of ranges(this.#contentEnd, pid, FIRST))
      yield* this.#removeContent(pid, psetid, range, rows, nowS);
    yield* this.stores.failures.forgetUnnamed(pid, psetid, rows);
  }

  *#dropRows(pid: number, psetid: number, [from, to]: Range, rows: () => number): Generator<number, void> {
    const read = (after: Key, limit: number) =>
      this.#selectUnnamedRows(...between(pid, after, to), psetid, psetid, limit);
    for (const page of pagesAfter(read, from, rows)) {
      if (page.length > 0) {
        this.stores.queue.changed(pid);
        // safeguard: full sets reconciling the queue
        for (const row of page) this.#dropRow(row.pos);
        this.stores.tally.waiting(pid, -page.length);
      }
      yield page.filter(row => row.counts === 1).length;
    }
  }

  *#removeContent(
    pid: number,
    psetid: number,
    [from, to]: Range,
    rows: () => number,
    nowS: () => number,
  ): Generator<number, void> {
    const read = (after: Key, limit: number) =>
      this.#selectUnnamedContents(...between(pid, after, to), psetid, psetid, psetid, limit);
    for (const page of pagesAfter(read, from, rows)) {
      const isKept = psetid === EVERYTHING ? undefined : this.#given.keeperOf(pid);
      const unnamed = isKept === undefined ? page : page.filter(({ furl }) => !isKept(furl));
      for (const { major: curl, minor: mimetype } of unnamed) {
        const held = this.stores.content.find(pid, curl, mimetype);
        // safeguard: full sets reconciling the content
        if (held !== undefined) this.stores.content.remove(pid, held, nowS());
      }
      yield unnamed.length;
    }
  }
}

type Range = [from: Key, to: Key];

function between(pid: number, from: Key, to: Key): InRange {
  return [pid, from.major, from.minor, to.major, to.minor];
}

function rangeEnd(table: string, key: string): string {
  const [major = '', minor = ''] = key.split(', ');
  return `SELECT ${major} AS major, ${minor} AS minor FROM ${table} WHERE pid = ? AND (${key}) > (?, ?)
    ORDER BY ${key} LIMIT 1 OFFSET ${RANGE_ROWS - 1}`;
}

/** A provider's keys in ranges of RANGE_ROWS; the last is open, for keys may be added meanwhile. */
function* ranges(
  endOf: (pid: number, major: Bound, minor: Bound) => Key | undefined,
  pid: number,
  first: Key,
): Generator<Range, void> {
  let from = first;
  for (;;) {
    const to = endOf(pid, from.major, from.minor);
    yield [from, to ?? LAST];
    if (to === undefined) return;
    from = to;
  }
}
