/** The queue's shape by provider and age, as lccstat shows it: read beside the Queue Manager, which never
 * waits for it. An age is the time since the set was absorbed that gave the url its place. */
import {
  hoursOfMask,
  hoursOfSlots,
  isNever,
  opensAtMs,
  permits,
  slotOf,
  type Slots,
} from '../../config/hours.js';
import { MOVING } from '../moves/moving.js';
import { countSilent, readSilent, type ProviderRhythm } from '../providers/silence.js';
import type { Db } from '../sqlite/open.js';
import { Sql } from '../sqlite/sql-store.js';
import { AGE_GROUPS, readAges } from './ages.js';
import { readFailed, sumUpFailed, type FailedUrls } from './failed.js';
import { HELD_STATE } from './held-removals.js';

/** Providers with urls waiting that the operator has not stopped. */
const ACTIVE = 'nurlproc > 0 AND enabled <> 0 AND paused = 0';

/** Silent providers that are named. */
const NAMED = 3;

/** One whose limit was taken away owes nothing. */
const DUE_AT = 'iif(bandwidth > 0, dueat, 0)';

/** Remarkable facts about all providers together. */
export interface QueueSummary extends FailedUrls {
  providers: number;
  /** Urls queued, and how many providers they belong to. */
  urls: number;
  waiting: number;
  /** Providers with urls waiting that are paused, disabled, left alone because their site does not answer, or
   * closed at this hour: each counts once, as disabled before paused before backed off before closed. */
  paused: number;
  disabled: number;
  backed_off: number;
  closed: number;
  /** Closed providers that are closed at all hours. */
  never_open: number;
  /**
   * Providers that are none of these and wait because of their bandwidth; until when the first of them does.
   */
  delayed: number;
  /** Milliseconds since 1970, null = none. */
  delayed_until_ms: number | null;
  /** All that waits does so for a later time slot. */
  later_only: boolean;
  /** Urls of providers that are open, all of whose urls wait for hours of their own; when the first of these
   * begin. */
  later_urls: number;
  /** Milliseconds since 1970, null = unknown. */
  later_until_ms: number | null;
  /** Seconds since 1970, 0 = unknown. */
  oldest: number;
  full_sets_wanted: number;
  errors: number;
  held_providers: number;
  held_urls: number;
  /** Providers that have fallen silent; the longest silent of them. */
  silent: number;
  silent_first: ProviderRhythm[];
}

/** A provider's queue, and what is remarkable about the provider. */
export interface ProviderQueue {
  pid: number;
  waiting: number;
  /** By age group; the sum is `waiting`. */
  ages: number[];
  /** False: `ages` are estimates (`waiting` never is). */
  exact: boolean;
  paused: number;
  /** 1: on its way to another shard, or from one. */
  moving: 0 | 1;
  enabled: number;
  timeofday: string;
  backoffs: number;
  /** Seconds since 1970. */
  backoffuntil: number;
  /** Milliseconds since 1970. */
  dueat: number;
  /** The reason, null when none is wanted. */
  fullsetwanted: string | null;
  /** Errors the provider has not received. */
  errors: number;
  /** Removals that the mass-delete fuse holds back. */
  held: number;
  /** Urls that wait for a later slot, and the slots. */
  later: number;
  later_slots: number[];
  /** Urls that failed and are tried again, as far as those of all providers are counted. */
  failed: number;
}

/** Fields that decide if a provider is fetched from. */
export type ProviderStanding = Omit<ProviderQueue, 'ages' | 'exact'>;
type ProviderRow = Omit<ProviderStanding, 'later' | 'later_slots' | 'failed'>;
type PidbSummary = Pick<
  QueueSummary,
  'providers' | 'urls' | 'waiting' | 'paused' | 'disabled' | 'backed_off' | 'full_sets_wanted' | 'errors'
>;

export interface QueueShape {
  providers: ProviderQueue[];
  /** Providers left off, and their urls. */
  left_off: { providers: number; waiting: number };
  total: { waiting: number; ages: number[]; exact: boolean };
}

/** @param slots of the period, as the Queue Manager has it */
export function readQueueSummary(db: Db, nowMs: number, slots: Slots): QueueSummary {
  const nowS = Math.floor(nowMs / 1000);
  const sql = new Sql(db);
  const read = db.transaction(() => {
    const pidb = sql.row(
      `SELECT count(*) AS providers, coalesce(sum(nurlproc), 0) AS urls, count(nullif(nurlproc, 0)) AS waiting,
         coalesce(sum(nurlproc > 0 AND enabled <> 0 AND paused <> 0), 0) AS paused,
         coalesce(sum(nurlproc > 0 AND enabled = 0), 0) AS disabled,
         coalesce(sum(${ACTIVE} AND backoffuntil > $nowS), 0) AS backed_off,
         count(fullsetwanted) AS full_sets_wanted, coalesce(sum(nurlerrs), 0) AS errors
       FROM pidb`,
    )({ nowS }) as PidbSummary;
    const held = sql.row(
      `SELECT count(DISTINCT pid) AS held_providers, coalesce(sum(urls), 0) AS held_urls
       FROM held WHERE state = ${HELD_STATE.held} AND urls > 0`,
    )() as Pick<QueueSummary, 'held_providers' | 'held_urls'>;
    return {
      ...pidb,
      later_only:
        sql.has('SELECT 1 FROM qpsdb LIMIT 1')() &&
        !sql.has('SELECT 1 FROM qpsdb WHERE starttimeslot < 0 LIMIT 1')(),
      ...readHours(db, nowMs, slots),
      ...sumUpFailed(db, nowMs, slots),
      oldest: oldestWaiting(db),
      ...held,
      silent: countSilent(db, nowS),
      silent_first: readSilent(db, nowS, NAMED),
    };
  });
  return read();
}

/** When the first set with urls waiting was absorbed; seconds since 1970, 0: none. */
export function oldestWaiting(db: Db): number {
  // Sets whose urls went otherwise than by being fetched may still be there.
  return new Sql(db).number(
    `SELECT absorbedat FROM qpsdb WHERE EXISTS (SELECT 1 FROM queued WHERE pos BETWEEN firstpos AND lastpos)
     ORDER BY psetid LIMIT 1`,
  )();
}

/** Providers that are closed, that wait for hours of their own, and for their bandwidth. */
function readHours(
  db: Db,
  nowMs: number,
  slots: Slots,
): Pick<
  QueueSummary,
  'closed' | 'never_open' | 'later_urls' | 'later_until_ms' | 'delayed' | 'delayed_until_ms'
> {
  const slot = slotOf(nowMs, slots);
  const found = { closed: 0, never_open: 0, later_urls: 0, delayed: 0 };
  let delayedUntilMs: number | null = null;
  const begin = new Set<number>();
  const laterOf = readLater(db);
  const providers = new Sql(db).rows<
    [nowS: number, nowMs: number],
    { pid: number; nurlproc: number; timeofday: string; dueat: number }
  >(
    `SELECT pid, nurlproc, timeofday, ${DUE_AT} AS dueat FROM pidb WHERE ${ACTIVE} AND backoffuntil <= ?
         AND (timeofday <> '' OR ${DUE_AT} > ? OR pid IN (SELECT pid FROM qpsdb WHERE starttimeslot >= 0))`,
  );
  for (const { pid, nurlproc, timeofday, dueat } of providers(Math.floor(nowMs / 1000), nowMs)) {
    const hours = hoursOfMask(timeofday, slots);
    if (isNever(hours)) found.never_open++;
    if (!permits(hours, slot)) {
      found.closed++;
      continue;
    }
    const { later, later_slots: begins } = laterOf.get(pid) ?? NONE_LATER;
    if (later < nurlproc) {
      if (dueat <= nowMs) continue;
      found.delayed++;
      delayedUntilMs = Math.min(delayedUntilMs ?? Infinity, dueat);
      continue;
    }
    found.later_urls += later;
    for (const each of begins) begin.add(each);
  }
  const laterUntilMs = opensAtMs(hoursOfSlots([...begin], slots), nowMs, slots) ?? null;
  return { ...found, delayed_until_ms: delayedUntilMs, later_until_ms: laterUntilMs };
}

type Later = Pick<ProviderQueue, 'later' | 'later_slots'>;
const NONE_LATER: Later = { later: 0, later_slots: [] };

/** The urls that wait for a slot by provider, counted from an index. */
function readLater(db: Db): Map<number, Later> {
  const parts = new Sql(db).rows<[], { pid: number; slot: number; urls: number }>(
    `SELECT qpsdb.pid, starttimeslot AS slot, count(*) AS urls FROM qpsdb JOIN queued
         ON queued.slot = starttimeslot AND queued.slot >= 0 AND queued.psetid = qpsdb.psetid
       WHERE starttimeslot >= 0 GROUP BY qpsdb.pid, starttimeslot`,
  );
  const found = new Map<number, Later>();
  for (const { pid, slot, urls } of parts()) {
    const { later, later_slots } = found.get(pid) ?? NONE_LATER;
    found.set(pid, { later: later + urls, later_slots: [...later_slots, slot] });
  }
  return found;
}

/** One provider as in the shape, but for its ages; undefined when there is none. */
export function readProviderQueue(db: Db, pid: number): ProviderStanding | undefined {
  const row = readProviderAlone(db, pid);
  return row && { ...row, ...(readLater(db).get(pid) ?? NONE_LATER), failed: readFailed(db).get(pid) ?? 0 };
}

/** The same without what has to be counted in the queue: one look. */
export function readProviderAlone(db: Db, pid: number): ProviderStanding | undefined {
  const row = new Sql(db).row<[pid: number], ProviderRow>(
    `SELECT ${PROVIDER_COLUMNS} FROM pidb WHERE pid = ?`,
  )(pid);
  return row && { ...row, ...NONE_LATER, failed: 0 };
}

/** The providers with anything to say of them, the longest queues first, at most `limit`. */
export function readQueueShape(db: Db, nowS: number, limit: number, countedRows?: number): QueueShape {
  const read = db.transaction(() => {
    const waiting = new Map(
      db.prepare<[], [number, number]>('SELECT pid, nurlproc FROM pidb WHERE nurlproc > 0').raw().all(),
    );
    const ages = readAges(db, nowS, waiting, { rows: countedRows });
    const total = { waiting: 0, ages: Array<number>(AGE_GROUPS).fill(0), exact: true };
    for (const [pid, urls] of waiting) {
      const of = ages.get(pid);
      total.waiting += urls;
      of?.ages.forEach((count, group) => (total.ages[group] = (total.ages[group] ?? 0) + count));
      total.exact &&= of?.exact ?? true;
    }
    const sql = new Sql(db);
    const rows = sql.rows<[{ nowS: number; limit: number }], ProviderRow>(
      `SELECT ${PROVIDER_COLUMNS} FROM pidb WHERE ${REMARKABLE} ORDER BY nurlproc DESC, pid LIMIT $limit`,
    )({ nowS, limit });
    const remarkable = sql.number<[{ nowS: number }]>(`SELECT count(*) FROM pidb WHERE ${REMARKABLE}`);
    const later = readLater(db);
    const failed = readFailed(db);
    const providers = rows.map((row): ProviderQueue => {
      const of = ages.get(row.pid) ?? { ages: Array<number>(AGE_GROUPS).fill(0), exact: true };
      return {
        ...row,
        ...(later.get(row.pid) ?? NONE_LATER),
        failed: failed.get(row.pid) ?? 0,
        ...of,
      };
    });
    const shown = providers.reduce((sum, { waiting: urls }) => sum + urls, 0);
    const left_off = {
      providers: remarkable({ nowS }) - providers.length,
      waiting: total.waiting - shown,
    };
    return { providers, left_off, total };
  });
  return read();
}

const REMARKABLE = `nurlproc > 0 OR paused <> 0 OR backoffuntil > $nowS OR fullsetwanted IS NOT NULL OR nurlerrs > 0
  OR pid IN (SELECT pid FROM held WHERE state = ${HELD_STATE.held} AND urls > 0) OR pid IN (${MOVING})`;

const PROVIDER_COLUMNS = `pid, nurlproc AS waiting, paused, enabled, timeofday, backoffs, backoffuntil, ${DUE_AT} AS dueat, fullsetwanted,
  nurlerrs AS errors, (SELECT coalesce(sum(urls), 0) FROM held WHERE held.pid = pidb.pid AND state = ${HELD_STATE.held}) AS held,
  pid IN (${MOVING}) AS moving`;

/** An LCC in a few numbers: from the counters of its providers, whatever it holds. */
interface WholeCounts {
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
  const counts = new Sql(db).one<[], Omit<WholeCounts, 'oldest'>>(
    `SELECT count(*) AS providers, coalesce(sum(filesused), 0) AS pages, coalesce(sum(spaceused), 0) AS bytes,
       coalesce(sum(nurlproc), 0) AS waiting FROM pidb`,
  )();
  return { ...counts, oldest: oldestWaiting(db) };
}
