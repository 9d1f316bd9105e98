/**
 * QPSDB against QDB (semantics.md, rule 22). The sets that wait can be told from the urls alone: a set has a range of
 * places of its own, given in the order of absorption, and every row says which set gave it its place.
 *
 * What is compared at every start must cost nothing with ten million urls queued: a few look-ups a set, by the places
 * between sets, where no row may be. lccfsck reads every row.
 */
import type { Db } from '../open.js';
import { LOOK_SLOT } from './slots.js';

interface Range {
  psetid: number;
  slot: number;
  pid: number;
  firstpos: number;
  lastpos: number;
}

/** Look-ups at a start: some 3 µs each. What lies behind is left to lccfsck. */
const MAX_LOOKUPS = 50_000;
const PAGE_ROWS = 1000;

/**
 * Makes qpsdb anew from qdb; sets not yet complete stay invisible. All parts of a set have its whole range: they are put
 * together again. Inside a transaction. @returns sets
 */
export function rebuildSets(db: Db): number {
  db.exec(`
    CREATE TEMP TABLE rebuilt AS
      SELECT psetid, slot, min(pid) AS pid,
        min(min(pos)) OVER (PARTITION BY psetid) AS firstpos, max(max(pos)) OVER (PARTITION BY psetid) AS lastpos,
        coalesce((SELECT max(absorbedat) FROM qpsdb WHERE qpsdb.psetid = qdb.psetid), 0) AS absorbedat
      FROM qdb WHERE psetid NOT IN (SELECT psetid FROM absorbed WHERE complete = 0) GROUP BY psetid, slot;
    DELETE FROM qpsdb;
    INSERT INTO qpsdb(psetid, starttimeslot, pid, firstpos, lastpos, absorbedat)
      SELECT psetid, slot, pid, firstpos, lastpos, absorbedat FROM rebuilt;
    DROP TABLE rebuilt;`);
  return Number(db.prepare('SELECT count(*) FROM qpsdb').pluck().get());
}

/** The first thing in which qpsdb and qdb are found to disagree; undefined when nothing is. */
export function disagreement(db: Db): string | undefined {
  return overlapping(db) ?? uncovered(db) ?? unlisted(db);
}

/** Ranges of different sets share no place, and no set is visible that is not complete. */
function overlapping(db: Db): string | undefined {
  const ranges = db.prepare<[], Range & { incomplete: 0 | 1 }>(
    `SELECT psetid, starttimeslot AS slot, pid, firstpos, lastpos,
       psetid IN (SELECT psetid FROM absorbed WHERE complete = 0) AS incomplete FROM qpsdb ORDER BY firstpos, psetid`,
  );
  let before: Range | undefined;
  for (const range of ranges.iterate()) {
    const what = `set ${range.psetid}`;
    if (range.incomplete) return `${what} is not complete`;
    if (range.lastpos < range.firstpos) return `${what} ends before it begins`;
    if (before !== undefined && range.firstpos <= before.lastpos && range.psetid !== before.psetid)
      return `${what} begins within set ${before.psetid}`;
    if (before === undefined || range.lastpos > before.lastpos) before = range;
  }
  return undefined;
}

/** Between the ranges there are no rows, and the first row of each is of that set and provider. */
function uncovered(db: Db): string | undefined {
  const between = db
    .prepare<[number, number], number>('SELECT pos FROM qdb WHERE pos BETWEEN ? AND ? LIMIT 1')
    .pluck();
  const first = db.prepare<[number, number], { psetid: number; pid: number }>(
    'SELECT psetid, pid FROM qdb WHERE pos BETWEEN ? AND ? ORDER BY pos LIMIT 1',
  );
  const ranges = db
    .prepare<[number], Range & { visible: 0 | 1 }>(
      `SELECT psetid, pid, firstpos, lastpos, 1 AS visible FROM qpsdb
       UNION ALL SELECT psetid, pid, firstpos, lastpos, 0 FROM absorbed WHERE complete = 0 AND lastpos >= firstpos
       ORDER BY firstpos LIMIT ?`,
    )
    .all(MAX_LOOKUPS / 2);
  let covered = 0;
  for (const range of ranges) {
    if (range.firstpos > covered + 1) {
      const stray = between.get(covered + 1, range.firstpos - 1);
      if (stray !== undefined) return `the url at ${stray} is of no set`;
    }
    if (range.visible) {
      const row = first.get(range.firstpos, range.lastpos);
      if (row !== undefined && row.psetid !== range.psetid)
        return `the places of set ${range.psetid} hold a url of set ${row.psetid}`;
      if (row !== undefined && row.pid !== range.pid)
        return `set ${range.psetid} of provider ${range.pid} holds a url of provider ${row.pid}`;
    }
    covered = Math.max(covered, range.lastpos);
  }
  if (ranges.length >= MAX_LOOKUPS / 2) return undefined;
  const stray = between.get(covered + 1, Number.MAX_SAFE_INTEGER);
  return stray === undefined ? undefined : `the url at ${stray} is of no set`;
}

/** Every time slot that urls of a set wait for has its part of the set. */
function unlisted(db: Db): string | undefined {
  const next = db.prepare<[number, number], { slot: number; psetid: number }>(
    `SELECT slot, psetid FROM qdb WHERE slot >= 0 AND slot < ${LOOK_SLOT} AND (slot, psetid) > (?, ?) ORDER BY slot, psetid LIMIT 1`,
  );
  const listed = db
    .prepare<{ psetid: number; slot: number }, number>(
      `SELECT 1 FROM qpsdb WHERE psetid = $psetid AND starttimeslot = $slot
       UNION ALL SELECT 1 FROM absorbed WHERE psetid = $psetid AND complete = 0`,
    )
    .pluck();
  let part = next.get(-1, Number.MAX_SAFE_INTEGER);
  for (let lookups = 0; part !== undefined && lookups < MAX_LOOKUPS; lookups++) {
    if (listed.get(part) === undefined)
      return `urls of set ${part.psetid} wait for slot ${part.slot}, which the set does not list`;
    part = next.get(part.slot, part.psetid);
  }
  return undefined;
}

/** A row at a place that belongs to another set than it says, or to none (null). */
export interface StrayRow {
  pos: number;
  psetid: number;
  range: number | null;
}

/** Reads every row of the queue; in the order of places. Those that are given out may be changed meanwhile. */
export function* strayRows(db: Db): Generator<StrayRow, void> {
  const others = db.prepare<[number, number, number, number], { pos: number; psetid: number }>(
    'SELECT pos, psetid FROM qdb WHERE pos BETWEEN ? AND ? AND psetid <> ? ORDER BY pos LIMIT ?',
  );
  const within = function* (first: number, last: number, psetid: number | null): Generator<StrayRow, void> {
    for (let from = first; from <= last;) {
      const rows = others.all(from, last, psetid ?? -1, PAGE_ROWS);
      for (const row of rows) yield { ...row, range: psetid };
      if (rows.length < PAGE_ROWS) return;
      from = (rows.at(-1)?.pos ?? last) + 1;
    }
  };
  let covered = 0;
  for (const { psetid, firstpos, lastpos } of allRanges(db)) {
    if (firstpos > covered + 1) yield* within(covered + 1, firstpos - 1, null);
    yield* within(Math.max(firstpos, covered + 1), lastpos, psetid);
    covered = Math.max(covered, lastpos);
  }
  yield* within(covered + 1, Number.MAX_SAFE_INTEGER, null);
}

/** Gives rows at the places of a set, of which others say that it is theirs and which no other set claims, to that set. Inside a transaction. */
export function adoptStrayRows(db: Db): void {
  const agrees = db.prepare('SELECT 1 FROM qdb WHERE pos BETWEEN ? AND ? AND psetid = ? LIMIT 1');
  const adopt = db.prepare(`UPDATE qdb SET psetid = ? WHERE pos BETWEEN ? AND ? AND psetid <> ? AND NOT EXISTS
       (SELECT 1 FROM qpsdb WHERE qpsdb.psetid = qdb.psetid AND qdb.pos BETWEEN firstpos AND lastpos)`);
  for (const { psetid, firstpos, lastpos } of allRanges(db))
    if (agrees.get(firstpos, lastpos, psetid) !== undefined) adopt.run(psetid, firstpos, lastpos, psetid);
}

/** Places of every set, complete or not, each once, page by page. */
function* allRanges(db: Db): Generator<Pick<Range, 'psetid' | 'firstpos' | 'lastpos'>, void> {
  const page = db.prepare<[number, number, number], Range>(
    `SELECT psetid, firstpos, lastpos FROM (
       SELECT psetid, min(firstpos) AS firstpos, max(lastpos) AS lastpos FROM (
         SELECT psetid, firstpos, lastpos FROM qpsdb
         UNION ALL SELECT psetid, firstpos, lastpos FROM absorbed WHERE complete = 0 AND lastpos >= firstpos)
       GROUP BY psetid)
     WHERE (firstpos, psetid) > (?, ?) ORDER BY firstpos, psetid LIMIT ?`,
  );
  for (let last: Range | undefined; ;) {
    const rows: Range[] = page.all(last?.firstpos ?? -1, last?.psetid ?? -1, PAGE_ROWS);
    yield* rows;
    last = rows.at(-1);
    if (last === undefined || rows.length < PAGE_ROWS) return;
  }
}
