/**
 * QPSDB against QDB (semantics.md, rule 22). The sets that wait can be told from the urls alone: a set has a
 * range of places of its own, given in the order of absorption, and every row says which set gave it its
 * place.
 *
 * What is compared at every start must cost nothing with ten million urls queued, in however many sets: a few
 * look-ups a set, of the first sets (place-checks.ts). The others are looked at while it runs, and lccfsck
 * reads every row.
 */
import type { Db } from '../sqlite/open.js';
import { pagesAfter } from '../sqlite/paging.js';
import { Sql } from '../sqlite/sql-store.js';
import { lookAtPlaces } from './place-checks.js';
import { CLASS_OF_ROW } from './row.js';
import type { WaitingSet } from './sets.js';

/** Where the urls of a set are. */
type Places = Pick<WaitingSet, 'psetid' | 'firstpos' | 'lastpos'>;

const PAGE_ROWS = 1000;

/**
 * Rebuilds qpsdb from qdb; sets not yet complete stay invisible. All parts of a set have its whole range:
 * they are put together again. What tells a set's age may be lost: it counts from now then. Inside a
 * transaction. @returns sets
 */
export function rebuildSets(db: Db): number {
  db.exec(`
    CREATE TEMP TABLE rebuilt AS
      SELECT psetid, slot, min(pid) AS pid,
        min(min(pos)) OVER (PARTITION BY psetid) AS firstpos, max(max(pos)) OVER (PARTITION BY psetid) AS lastpos,
        coalesce((SELECT max(absorbedat) FROM qpsdb WHERE qpsdb.psetid = queued.psetid), unixepoch()) AS absorbedat,
        min(min(${CLASS_OF_ROW})) OVER (PARTITION BY psetid) AS class
      FROM queued WHERE psetid NOT IN (SELECT psetid FROM absorbed WHERE complete = 0) GROUP BY psetid, slot;
    DELETE FROM qpsdb;
    INSERT INTO qpsdb(psetid, starttimeslot, pid, firstpos, lastpos, absorbedat, class)
      SELECT psetid, slot, pid, firstpos, lastpos, absorbedat, class FROM rebuilt;
    DROP TABLE rebuilt;`);
  return new Sql(db).number('SELECT count(*) FROM qpsdb')();
}

/** The first thing in which qpsdb and qdb are found to disagree; undefined when nothing is. */
export function disagreement(db: Db): string | undefined {
  for (const wrong of lookAtPlaces(db)) if (wrong !== undefined) return wrong;
  return undefined;
}

const ASKED_KEY = 'retell';
const TOLD_KEY = 'retold';

/** Notes in what they disagree, for the next start to rebuild the sets. Inside a transaction. */
export function askToRetell(db: Db, reason: string): void {
  db.prepare('INSERT OR REPLACE INTO meta VALUES (?, ?)').run(ASKED_KEY, reason);
}

/** The noted reason; undefined: none, or the sets have been rebuilt since. */
export function retellReason(db: Db): string | undefined {
  return new Sql(db).value<[key: string], string>('SELECT value FROM meta WHERE key = ?')(ASKED_KEY);
}

/** Rebuilds the sets for this reason. Inside a transaction. @returns sets */
export function retellSets(db: Db, reason: string): number {
  db.prepare('DELETE FROM meta WHERE key = ?').run(ASKED_KEY);
  db.prepare('INSERT OR REPLACE INTO meta VALUES (?, ?)').run(TOLD_KEY, reason);
  return rebuildSets(db);
}

/** True if that has been done because of this already: it does not help. */
export function isRetoldFor(db: Db, reason: string): boolean {
  return db.prepare('SELECT 1 FROM meta WHERE key = ? AND value = ?').get(TOLD_KEY, reason) !== undefined;
}

/** A row at a place that belongs to another set than it says, or to none (null). */
interface StrayRow {
  pos: number;
  psetid: number;
  range: number | null;
}

/**
 * Reads every row of the queue; in the order of places. Those that are given out may be changed meanwhile.
 */
export function* strayRows(db: Db): Generator<StrayRow, void> {
  const others = new Sql(db).rows<
    [from: number, to: number, but: number, limit: number],
    Omit<StrayRow, 'range'>
  >('SELECT pos, psetid FROM queued WHERE pos BETWEEN ? AND ? AND psetid <> ? ORDER BY pos LIMIT ?');
  const within = function* (first: number, last: number, psetid: number | null): Generator<StrayRow, void> {
    for (let from = first; from <= last;) {
      const rows = others(from, last, psetid ?? -1, PAGE_ROWS);
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

/** Gives rows at the places of a set, of which others say that it is theirs and which no other set claims, to
 * that set. Inside a transaction. */
export function adoptStrayRows(db: Db): void {
  const agrees = new Sql(db).has<[from: number, to: number, psetid: number]>(
    'SELECT 1 FROM queued WHERE pos BETWEEN ? AND ? AND psetid = ? LIMIT 1',
  );
  const adopt =
    db.prepare(`UPDATE queued SET psetid = ? WHERE pos BETWEEN ? AND ? AND psetid <> ? AND NOT EXISTS
       (SELECT 1 FROM qpsdb WHERE qpsdb.psetid = queued.psetid AND queued.pos BETWEEN firstpos AND lastpos)`);
  for (const { psetid, firstpos, lastpos } of allRanges(db))
    if (agrees(firstpos, lastpos, psetid)) adopt.run(psetid, firstpos, lastpos, psetid);
}

/** Places of every set, complete or not, in their order. A damaged set whose parts begin at different places
 * comes more than once. */
function* allRanges(db: Db): Generator<Places, void> {
  const open = new Sql(db).rows<[], Places>(
    `SELECT psetid, firstpos, lastpos FROM absorbed WHERE complete = 0 AND lastpos >= firstpos
     ORDER BY firstpos, psetid`,
  )();
  for (const set of completeRanges(db)) {
    const before = open.findIndex(({ firstpos }) => firstpos > set.firstpos);
    yield* open.splice(0, before < 0 ? open.length : before);
    yield set;
  }
  yield* open;
}

/** Page by page, along an index. */
function* completeRanges(db: Db): Generator<Places, void> {
  const page = new Sql(db).rows<[after: Omit<Places, 'lastpos'>, limit: number], Places>(
    `SELECT psetid, firstpos, max(lastpos) AS lastpos FROM qpsdb
     WHERE (firstpos, psetid) > ($firstpos, $psetid) GROUP BY firstpos, psetid ORDER BY firstpos, psetid LIMIT ?`,
  );
  for (const rows of pagesAfter(page, { firstpos: -1, psetid: -1 }, () => PAGE_ROWS)) yield* rows;
}
