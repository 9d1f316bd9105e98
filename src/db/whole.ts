/** An LCC in a few numbers: from the counters of its providers, whatever it holds. */
import { oldestWaiting } from './queue/shape.js';
import { Sql } from './sqlite/sql-store.js';
import type { Db } from './sqlite/open.js';

export interface WholeCounts {
  providers: number;
  /** Pages held, and their bytes. */
  pages: number;
  bytes: number;
  /** Urls queued. */
  waiting: number;
  /** When the set of the first of them was absorbed; seconds since 1970, 0: none waits. */
  oldest: number;
}

export function readWhole(db: Db): WholeCounts {
  const counts = new Sql(db).row<[], Omit<WholeCounts, 'oldest'>>(
    `SELECT count(*) AS providers, coalesce(sum(filesused), 0) AS pages, coalesce(sum(spaceused), 0) AS bytes,
       coalesce(sum(nurlproc), 0) AS waiting FROM pidb`,
  )() ?? { providers: 0, pages: 0, bytes: 0, waiting: 0 };
  return { ...counts, oldest: oldestWaiting(db) };
}
