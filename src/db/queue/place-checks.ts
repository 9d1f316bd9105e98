/** Looks whether qpsdb and qdb agree, a page of look-ups at a time: a few of the places between sets, where
 * no row may be. It is true after every transaction, so others may change the queue between two pages. */
import type { Db } from '../sqlite/open.js';
import { Sql } from '../sqlite/sql-store.js';
import type { SetClass } from '../../wire/origin.js';
import { CLASS_OF_ROW } from './row.js';
import { isLarge, NOW_SLOT, SET_COLUMNS, type WaitingSet } from './sets.js';
import { LOOK_SLOT } from './slots.js';

/** Sets, or time slots of sets, in a page: some milliseconds. */
const PAGE = 1000;

/** Yields for each page the first thing in which the two are found to disagree, undefined when nothing is. */
export function* lookAtPlaces(db: Db): Generator<string | undefined, void> {
  yield* lookAtRanges(db);
  yield* lookAtSlots(db);
}

/** Ranges of different sets share no place, no set is visible that is neither complete nor large, between the
 * ranges there are no rows, and the first row of each is of that set and provider. */
function* lookAtRanges(db: Db): Generator<string | undefined, void> {
  const sql = new Sql(db);
  const page = sql.rows<[firstpos: number, psetid: number, slot: number, limit: number], WaitingSet>(
    `SELECT ${SET_COLUMNS} FROM qpsdb
     WHERE (firstpos, psetid, starttimeslot) > (?, ?, ?) ORDER BY firstpos, psetid, starttimeslot LIMIT ?`,
  );
  const open = sql.rows<[], WaitingSet>(
    'SELECT psetid, 0 AS slot, pid, firstpos, lastpos, 0 AS class FROM absorbed WHERE complete = 0',
  );
  const look = looker(sql);
  for (let last: WaitingSet | undefined, isOver = false; !isOver;) {
    const visible: WaitingSet[] = page(
      last?.firstpos ?? Number.MIN_SAFE_INTEGER,
      last?.psetid ?? 0,
      last?.slot ?? 0,
      PAGE,
    );
    last = visible.at(-1);
    isOver = visible.length < PAGE;
    yield look(visible, open(), isOver ? Infinity : (last?.firstpos ?? 0));
  }
}

/** Remembers the last place of the pages before. */
function looker(
  sql: Sql,
): (visible: readonly WaitingSet[], open: readonly WaitingSet[], end: number) => string | undefined {
  const between = sql.value<[from: number, to: number], number>(
    'SELECT pos FROM queued WHERE pos BETWEEN ? AND ? LIMIT 1',
  );
  const first = sql.row<[from: number, to: number], { psetid: number; pid: number; class: SetClass }>(
    `SELECT psetid, pid, ${CLASS_OF_ROW} AS class FROM queued WHERE pos BETWEEN ? AND ? ORDER BY pos LIMIT 1`,
  );
  const found = sql.value<[pid: number, setClass: SetClass, psetid: number], number>(
    `SELECT lastpos FROM qpsdb INDEXED BY qpsdb_now WHERE starttimeslot = ${NOW_SLOT} AND pid = ? AND class = ? AND psetid = ?`,
  );
  let covered = 0;
  let before: WaitingSet | undefined;
  const wrongOf = (range: WaitingSet): string | undefined => {
    const { psetid, slot, pid, firstpos, lastpos } = range;
    if (lastpos < firstpos) return `set ${psetid} ends before it begins`;
    if (before !== undefined && firstpos <= before.lastpos && psetid !== before.psetid)
      return `set ${psetid} begins within set ${before.psetid}`;
    if (before === undefined || lastpos > before.lastpos) before = range;
    const row = first(firstpos, lastpos);
    if (row !== undefined && row.psetid !== psetid)
      return `the places of set ${psetid} hold a url of set ${row.psetid}`;
    if (row !== undefined && row.pid !== pid)
      return `set ${psetid} of provider ${pid} holds a url of provider ${row.pid}`;
    if (row !== undefined && row.class !== range.class)
      return `set ${psetid} of class ${range.class} holds a url of class ${row.class}`;
    if (slot < 0 && found(pid, range.class, psetid) !== lastpos)
      return `set ${psetid} is not found by its provider ${pid}`;
    return undefined;
  };
  return (visible, open, end) => {
    const unfinished = new Set(open.map(({ psetid }) => psetid));
    const begun = open.filter(
      ({ firstpos, lastpos }) => firstpos <= end && lastpos >= Math.max(firstpos, covered),
    );
    const ranges = [...visible, ...begun].sort((a, b) => a.firstpos - b.firstpos);
    const isVisible = new Set(visible);
    for (const range of ranges) {
      if (isVisible.has(range) && unfinished.has(range.psetid) && !isLarge(range))
        return `set ${range.psetid} is not complete`;
      const stray = range.firstpos > covered + 1 ? between(covered + 1, range.firstpos - 1) : undefined;
      if (stray !== undefined) return `the url at ${stray} is of no set`;
      const wrong = isVisible.has(range) ? wrongOf(range) : undefined;
      if (wrong !== undefined) return wrong;
      covered = Math.max(covered, range.lastpos);
    }
    const stray = end === Infinity ? between(covered + 1, Number.MAX_SAFE_INTEGER) : undefined;
    return stray === undefined ? undefined : `the url at ${stray} is of no set`;
  };
}

/** Every time slot that urls of a set wait for has its part of the set. */
function* lookAtSlots(db: Db): Generator<string | undefined, void> {
  type Part = Pick<WaitingSet, 'slot' | 'psetid'>;
  const sql = new Sql(db);
  const next = sql.row<[slot: number, psetid: number], Part>(
    `SELECT slot, psetid FROM queued WHERE slot >= 0 AND slot < ${LOOK_SLOT} AND (slot, psetid) > (?, ?) ORDER BY slot, psetid LIMIT 1`,
  );
  const isListed = sql.has<[part: Part]>(
    `SELECT lastpos FROM qpsdb AS part WHERE psetid = $psetid AND starttimeslot = $slot AND EXISTS (
         SELECT 1 FROM qpsdb AS found INDEXED BY qpsdb_later WHERE found.starttimeslot = $slot
           AND found.starttimeslot >= 0 AND found.pid = part.pid AND found.psetid = $psetid)
     UNION ALL SELECT 1 FROM absorbed WHERE psetid = $psetid AND complete = 0`,
  );
  let part: Part | undefined = { slot: NOW_SLOT, psetid: Number.MAX_SAFE_INTEGER };
  for (let lookups = 1; ; lookups++) {
    part = next(part.slot, part.psetid);
    if (part === undefined) return;
    if (!isListed(part))
      yield `urls of set ${part.psetid} wait for slot ${part.slot}, which the set does not list`;
    else if (lookups % PAGE === 0) yield undefined;
  }
}
