/** Urls that failed and wait to be tried again, counted from an index beside the Queue Manager. */
import { hoursOfMask, permits, slotOf, type Slots } from '../../config/hours.js';
import type { Db } from '../sqlite/open.js';
import { Sql } from '../sqlite/sql-store.js';

/** Rows looked at; further ones are not counted. */
export const COUNTED_FAILED = 10_000;

const FAILED = `SELECT pid FROM queued INDEXED BY qdb_bad WHERE tries > 0 AND slot < 0 LIMIT ${COUNTED_FAILED}`;

/** How many a provider has: those of all together are counted up to COUNTED_FAILED. */
export function readFailed(db: Db): Map<number, number> {
  const rows = db
    .prepare<[], [number, number]>(`SELECT pid, count(*) FROM (${FAILED}) GROUP BY pid`)
    .raw()
    .all();
  return new Map(rows);
}

export interface FailedUrls {
  /** Urls that failed and are tried again, of providers that nothing else keeps from being fetched from. */
  failed_urls: number;
  failed_providers: number;
}

/** @param slots of the period, as the Queue Manager has it */
export function sumUpFailed(db: Db, nowMs: number, slots: Slots): FailedUrls {
  const rows = new Sql(db).rows<[nowS: number], { urls: number; timeofday: string }>(
    `SELECT count(*) AS urls, timeofday FROM (${FAILED}) JOIN pidb USING (pid)
       WHERE enabled <> 0 AND paused = 0 AND backoffuntil <= ? GROUP BY pid`,
  )(Math.floor(nowMs / 1000));
  const slot = slotOf(nowMs, slots);
  const open = rows.filter(({ timeofday }) => permits(hoursOfMask(timeofday, slots), slot));
  return {
    failed_urls: open.reduce((sum, { urls }) => sum + urls, 0),
    failed_providers: open.length,
  };
}
