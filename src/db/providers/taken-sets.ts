/** The last sets of a provider, as they were taken. */
import type { TakenSet } from '../../wire/rs-looks.js';
import type { Db } from '../sqlite/open.js';
import { Sql } from '../sqlite/sql-store.js';

/** @returns the last ones of a provider, the newest first */
export function takenSetsIn(db: Db): (pid: number, limit: number) => TakenSet[] {
  return new Sql(db).rows<[pid: number, limit: number], TakenSet>(
    `SELECT psetid, at, isfull, complete,
       EXISTS(SELECT 1 FROM held WHERE held.psetid = absorbed.psetid AND held.state = 1) AS held,
       queued, duplicate, unchanged, deleted
     FROM absorbed WHERE pid = ? ORDER BY psetid DESC LIMIT ?`,
  );
}
