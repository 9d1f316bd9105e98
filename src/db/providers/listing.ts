/** Providers as operators list them: a page of those that match, the ones to look at, and their last sets. */
import {
  MAX_SETS_SHOWN,
  type RsProviderPage,
  type RsProviderRow,
  type TakenSet,
} from '../../wire/rs-looks.js';
import type { Db } from '../sqlite/open.js';
import { Sql } from '../sqlite/sql-store.js';

interface Row extends Omit<RsProviderRow, 'enabled' | 'paused' | 'crawled' | 'sets'> {
  enabled: number;
  paused: number;
  crawled: number;
}

const HEARD = 'max(lastconntime, lastset)';
const COLUMNS = `pid, origin, enabled, paused, coalesce((SELECT min(root) FROM proots WHERE proots.pid = pidb.pid), '') AS root,
  (SELECT count(*) FROM proots WHERE proots.pid = pidb.pid) AS roots, nurlproc AS waiting, nurlerrs AS errors,
  filesused AS files, spaceused AS bytes, fullsetwanted AS full_set_wanted, lastconntime * 1000 AS connected_ms,
  ${HEARD} * 1000 AS heard_ms, spider AS crawled, backoffuntil * 1000 AS left_alone_until_ms`;

/** The numbers of all providers, ascending. */
export function readPids(db: Db): number[] {
  return new Sql(db).values<[], number>('SELECT pid FROM pidb ORDER BY pid')();
}

/** @param search part of a number or of a root; '': all of them */
export function readProviderPage(db: Db, search: string, after: number, limit: number): RsProviderPage {
  const rows = db
    .prepare<{ search: string; like: string; after: number; limit: number }, Row>(
      `SELECT ${COLUMNS} FROM pidb WHERE pid > $after AND ($search = '' OR instr(CAST(pid AS TEXT), $search) > 0
         OR EXISTS(SELECT 1 FROM proots WHERE proots.pid = pidb.pid AND root LIKE $like ESCAPE '\\'))
       ORDER BY pid LIMIT $limit`,
    )
    .all({ search, like: `%${search.replace(/[\\%_]/g, '\\$&')}%`, after, limit: limit + 1 });
  const shown = rows.slice(0, limit);
  return {
    providers: shownIn(db, shown),
    next: rows.length > limit ? (shown.at(-1)?.pid ?? null) : null,
  };
}

/** Those that something is wrong with, the most errors first; then those that were heard of last. */
export function readSites(db: Db, nowS: number, limit: number): RsProviderRow[] {
  const rows = db
    .prepare<[nowS: number, limit: number], Row>(
      `SELECT ${COLUMNS} FROM pidb
       ORDER BY nurlerrs > 0 OR backoffuntil > ? OR fullsetwanted IS NOT NULL DESC, nurlerrs DESC, ${HEARD} DESC, pid LIMIT ?`,
    )
    .all(nowS, limit);
  return shownIn(db, rows);
}

function shownIn(db: Db, rows: readonly Row[]): RsProviderRow[] {
  const setsOf = takenSetsIn(db);
  return rows.map(row => ({
    ...row,
    enabled: row.enabled !== 0,
    paused: row.paused !== 0,
    crawled: row.crawled !== 0,
    sets: setsOf(row.pid, MAX_SETS_SHOWN),
  }));
}

/** @returns the last ones of a provider, the newest first */
export function takenSetsIn(db: Db): (pid: number, limit: number) => TakenSet[] {
  return new Sql(db).rows<[pid: number, limit: number], TakenSet>(
    `SELECT psetid, at, isfull, complete,
       EXISTS(SELECT 1 FROM held WHERE held.psetid = absorbed.psetid AND held.state = 1) AS held,
       queued, duplicate, unchanged, deleted
     FROM absorbed WHERE pid = ? ORDER BY psetid DESC LIMIT ?`,
  );
}
