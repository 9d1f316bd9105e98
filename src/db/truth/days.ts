/** Counts of providers' announcements, by day (table truth). Those of a transaction are written at its end,
 * one row a provider and day. */
import { STAYS } from '../moves/moving.js';
import type { Db } from '../sqlite/open.js';
import { SqlStore } from '../sqlite/sql-store.js';
import { weightOf, type TruthCounts } from './score.js';

const DAY_S = 86_400;
/** Days of which counts are kept. */
export const KEPT_DAYS = 400;

const COUNTED = [
  'changed',
  'same',
  'failed',
  'fresh',
  'audited',
  'silent',
  'late',
  'dead',
  'noisy',
  'removed',
  'keptback',
] as const;

export interface DayCounts extends TruthCounts {
  /** Not held before. */
  fresh: number;
  /** Number of the silent ones that were gone. */
  dead: number;
  /** Differ at every fetch. */
  noisy: number;
  /** Found gone by a scan or an audit … */
  removed: number;
  /** … and those that stay for more were gone than the fuse permits. */
  keptback: number;
}

const NONE = Object.fromEntries(COUNTED.map(name => [name, 0])) as unknown as DayCounts;

/** Days since 1970. */
export function dayOf(nowS: number): number {
  return Math.floor(nowS / DAY_S);
}

/** `2026-11-26`, of days since 1970. */
export function dateOf(day: number): string {
  return new Date(day * DAY_S * 1000).toISOString().slice(0, 10);
}

/** Counts by provider and day in a table. Those of a transaction are written at its end, one row a key. */
export abstract class DailyStore<
  Key extends { pid: number; day: number },
  Name extends string,
> extends SqlStore {
  readonly #none: Record<Name, number>;
  readonly #upsert;
  readonly #deleteOld;
  readonly #pending = new Map<string, Key & Record<Name, number>>();

  /** @param keys columns of its key @param names columns of what is counted */
  constructor(db: Db, table: string, keys: readonly (keyof Key & string)[], names: readonly Name[]) {
    super(db);
    this.#none = Object.fromEntries(names.map(name => [name, 0])) as Record<Name, number>;
    const columns = [...keys, ...names];
    this.#upsert = this.sql.run<[Key & Record<Name, number>]>(
      `INSERT INTO ${table}(${columns.join()}) VALUES (${columns.map(name => `$${name}`).join()})
       ON CONFLICT DO UPDATE SET ${names.map(name => `${name} = ${name} + $${name}`).join()}`,
    );
    this.#deleteOld = this.sql.run<[day: number]>(`DELETE FROM ${table} WHERE day <= ?`);
  }

  protected add(key: Key, what: readonly Name[]): void {
    const id = Object.values(key).join(' ');
    const pending = this.#pending.get(id) ?? { ...key, ...this.#none };
    this.#pending.set(id, pending);
    const counts: Record<Name, number> = pending;
    for (const name of what) counts[name]++;
  }

  /** Counts that are too old to be kept go. */
  forgetOld(nowS: number): void {
    this.#deleteOld(dayOf(nowS) - KEPT_DAYS);
  }

  /** Call it last in the transaction. */
  flush(): void {
    for (const counts of this.#pending.values()) this.#upsert(counts);
    this.reset();
  }

  /** The transaction was rolled back. */
  reset(): void {
    this.#pending.clear();
  }
}

export class TruthDays extends DailyStore<{ pid: number; day: number }, keyof DayCounts> {
  readonly #selectRecent = this.sql.one<[pid: number, day: number], { removed: number; keptback: number }>(
    `SELECT coalesce(sum(removed), 0) AS removed, coalesce(sum(keptback), 0) AS keptback FROM truth
     WHERE pid = ? AND day >= ?`,
  );

  constructor(db: Db) {
    super(db, 'truth', ['pid', 'day'], COUNTED);
  }

  /** Counts one of each. Inside a transaction. */
  count(pid: number, nowS: number, ...what: (keyof DayCounts)[]): void {
    this.add({ pid, day: dayOf(nowS) }, what);
  }

  /** Pages of a provider found gone today and yesterday, and those of them that stay. */
  gone(pid: number, nowS: number): { removed: number; keptback: number } {
    this.flush();
    return this.#selectRecent(pid, dayOf(nowS) - 1);
  }

  /** The score lowers a provider's priority by one. @returns false where it is as low as can be, or is so
   * already */
  readonly lower = this.sql.changed<[pid: number]>(
    `UPDATE pidb SET priority = priority - 1, truthmode = 2 WHERE pid = ? AND truthmode = 1 AND priority > 0 AND ${STAYS}`,
  );

  /** The priority is what it was. @returns false where nothing had lowered it */
  readonly restore = this.sql.changed<[pid: number]>(
    `UPDATE pidb SET priority = min(2, priority + 1), truthmode = 1 WHERE pid = ? AND truthmode = 2 AND ${STAYS}`,
  );
}

/** Counts of several days, each worth half of what it was worth 30 days before. */
export function weighted(days: readonly (DayCounts & { day: number })[], today: number): DayCounts {
  const sum = { ...NONE };
  for (const one of days) {
    const weight = weightOf(today - one.day);
    for (const name of COUNTED) sum[name] += weight * one[name];
  }
  return sum;
}
