/**
 * Providers that have fallen silent, each measured against its own rhythm: the interval at which its sets
 * usually come.
 *
 * The usual interval is a mean in which each interval counts by its length: of a site that announces every
 * ten minutes on working days it is a day, not ten minutes, for in most moments of its week the next set is
 * that far away. What is older than `MEMORY_S` counts less and less. It is kept in the row of the provider,
 * in the transaction that takes the set, so nothing is lost at a restart and nothing grows.
 */
import type { Db } from '../../lib/sqlite.js';
import { Sql } from '../sqlite/sql-store.js';

/** Intervals of the last weeks are what is usual. */
const MEMORY_S = 14 * 86_400;
/** A provider counts as silent after this many of its intervals, … */
const INTERVALS = 3;
/** … and after this time at least. */
const LEAST_S = 86_400;

/** Columns of `pidb` as a set that comes at `$now` changes them. Before the second set there is no rhythm. */
export const NOTE_RHYTHM = `
  setssince = CASE WHEN lastset = 0 THEN $now WHEN setssince = 0 THEN lastset ELSE setssince END,
  setevery = CASE WHEN lastset = 0 OR $now <= lastset THEN setevery ELSE setevery + ($now - lastset - setevery) *
    min(1.0, ($now - lastset) * 1.0 / min(${MEMORY_S}, max(1, $now - iif(setssince = 0, lastset, setssince)))) END`;

/** The last set is longer ago than is usual; before the second one nothing is. */
const SILENT = `(setevery > 0 AND lastset + max(${LEAST_S}, ${INTERVALS} * setevery) < $nowS)`;
/** Who has sent sets, and may. */
const EXPECTED = 'lastset > 0 AND enabled <> 0';

export interface ProviderRhythm {
  pid: number;
  /** When its last set was taken, and when its CP connected last; Unix time, seconds. */
  lastset: number;
  lastconntime: number;
  /** The usual interval, whole seconds; 0: not known yet. */
  every: number;
  silent: boolean;
}

/** Those that have sent sets, the silent ones first, the longest silent first of all. */
export function readRhythms(db: Db, nowS: number, limit: number): ProviderRhythm[] {
  return rhythmsOf(db, EXPECTED, nowS, limit);
}

/** The silent ones alone, in the same order. */
export function readSilent(db: Db, nowS: number, limit: number): ProviderRhythm[] {
  return rhythmsOf(db, `${EXPECTED} AND ${SILENT}`, nowS, limit);
}

function rhythmsOf(db: Db, which: string, nowS: number, limit: number): ProviderRhythm[] {
  return new Sql(db)
    .rows<[values: { nowS: number; limit: number }], Omit<ProviderRhythm, 'silent'> & { silent: number }>(
      `SELECT pid, lastset, lastconntime, CAST(round(setevery) AS INTEGER) AS every, ${SILENT} AS silent
       FROM pidb WHERE ${which} ORDER BY silent DESC, lastset, pid LIMIT $limit`,
    )({ nowS, limit })
    .map(row => ({ ...row, silent: row.silent !== 0 }));
}

export function countSilent(db: Db, nowS: number): number {
  return new Sql(db).number<[values: { nowS: number }]>(
    `SELECT count(*) FROM pidb WHERE ${EXPECTED} AND ${SILENT}`,
  )({ nowS });
}

/** The last set of a provider that may be heard of; undefined: it is gone, or disabled. */
export function lastSetOf(db: Db, pid: number): number | undefined {
  return new Sql(db).value<[pid: number], number>(`SELECT lastset FROM pidb WHERE pid = ? AND ${EXPECTED}`)(
    pid,
  );
}
