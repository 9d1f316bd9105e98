/**
 * The queue's shape by provider and age, as lccstat shows it: read beside the Queue Manager, which never waits for it.
 * An age is the time since the set was absorbed that gave the url its place.
 */
import type { Db } from '../open.js';

/** Upper bounds of the age groups in minutes; one more group holds what is older. */
export const AGE_MINUTES: readonly number[] = [5, 10, 20, 40, 80, 160, 320, 640, 1280];
const GROUPS = AGE_MINUTES.length + 1;
/** Rows counted one by one; a set beyond that is taken to be as large as the places from its first url to its last. */
const COUNTED_ROWS = 200_000;
/** Sets of which first and last url are looked up; beyond that they are taken to be whole. */
const LOOKED_UP_SETS = 20_000;
const HELD = 1;

/** What is remarkable about all providers together. */
export interface QueueSummary {
  providers: number;
  /** Urls queued, and how many providers they belong to. */
  urls: number;
  waiting: number;
  /** Providers with urls waiting that are paused, disabled, or left alone because their site does not answer. */
  paused: number;
  disabled: number;
  backed_off: number;
  /** All that waits does so for a later time slot. */
  later_only: boolean;
  /** Seconds since 1970, 0 = unknown. */
  oldest: number;
  full_sets_wanted: number;
  errors: number;
  held_providers: number;
  held_urls: number;
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
}

export interface QueueShape {
  providers: ProviderQueue[];
  /** Providers left off, and their urls. */
  left_off: { providers: number; waiting: number };
  total: { waiting: number; ages: number[]; exact: boolean };
}

export function readQueueSummary(db: Db, nowS: number): QueueSummary {
  const read = db.transaction(() => {
    const pidb = db
      .prepare(
        `SELECT count(*) AS providers, coalesce(sum(nurlproc), 0) AS urls, count(nullif(nurlproc, 0)) AS waiting,
           coalesce(sum(nurlproc > 0 AND paused <> 0), 0) AS paused,
           coalesce(sum(nurlproc > 0 AND enabled = 0), 0) AS disabled,
           coalesce(sum(nurlproc > 0 AND backoffuntil > $nowS), 0) AS backed_off,
           count(fullsetwanted) AS full_sets_wanted, coalesce(sum(nurlerrs), 0) AS errors
         FROM pidb`,
      )
      .get({ nowS }) as Omit<QueueSummary, 'oldest' | 'later_only' | 'held_providers' | 'held_urls'>;
    const held = db
      .prepare(
        `SELECT count(DISTINCT pid) AS held_providers, coalesce(sum(urls), 0) AS held_urls
         FROM held WHERE state = ${HELD}`,
      )
      .get() as Pick<QueueSummary, 'held_providers' | 'held_urls'>;
    const first = (sql: string) => db.prepare<[], number>(sql).pluck().get();
    return {
      ...pidb,
      later_only:
        first('SELECT 1 FROM qpsdb LIMIT 1') !== undefined &&
        first('SELECT 1 FROM qpsdb WHERE starttimeslot < 0 LIMIT 1') === undefined,
      oldest: first('SELECT absorbedat FROM qpsdb ORDER BY psetid LIMIT 1') ?? 0,
      ...held,
    };
  });
  return read();
}

/** The providers with anything to say of them, the longest queues first, at most `limit`. */
export function readQueueShape(db: Db, nowS: number, limit: number, countedRows = COUNTED_ROWS): QueueShape {
  const read = db.transaction(() => {
    const waiting = new Map(
      db.prepare<[], [number, number]>('SELECT pid, nurlproc FROM pidb WHERE nurlproc > 0').raw().all(),
    );
    const ages = readAges(db, nowS, waiting, countedRows);
    const total = { waiting: 0, ages: Array<number>(GROUPS).fill(0), exact: true };
    for (const [pid, urls] of waiting) {
      const of = ages.get(pid);
      total.waiting += urls;
      of?.ages.forEach((count, group) => (total.ages[group] = (total.ages[group] ?? 0) + count));
      total.exact &&= of?.exact ?? true;
    }
    const rows = remarkable(db, nowS, limit);
    const providers = rows.map((row): ProviderQueue => {
      const of = ages.get(row.pid) ?? { ages: Array<number>(GROUPS).fill(0), exact: true };
      return { ...row, ...of };
    });
    const shown = providers.reduce((sum, { waiting: urls }) => sum + urls, 0);
    const left_off = {
      providers: countRemarkable(db, nowS) - providers.length,
      waiting: total.waiting - shown,
    };
    return { providers, left_off, total };
  });
  return read();
}

const REMARKABLE = `nurlproc > 0 OR paused <> 0 OR backoffuntil > $nowS OR fullsetwanted IS NOT NULL OR nurlerrs > 0
  OR pid IN (SELECT pid FROM held WHERE state = ${HELD})`;

function remarkable(db: Db, nowS: number, limit: number): Omit<ProviderQueue, 'ages' | 'exact'>[] {
  return db
    .prepare<{ nowS: number; limit: number }, Omit<ProviderQueue, 'ages' | 'exact'>>(
      `SELECT pid, nurlproc AS waiting, paused, enabled, timeofday, backoffs, backoffuntil, dueat, fullsetwanted,
         nurlerrs AS errors,
         (SELECT coalesce(sum(urls), 0) FROM held WHERE held.pid = pidb.pid AND state = ${HELD}) AS held
       FROM pidb WHERE ${REMARKABLE} ORDER BY nurlproc DESC, pid LIMIT $limit`,
    )
    .all({ nowS, limit });
}

function countRemarkable(db: Db, nowS: number): number {
  const count = db.prepare<{ nowS: number }, number>(`SELECT count(*) FROM pidb WHERE ${REMARKABLE}`).pluck();
  return count.get({ nowS }) ?? 0;
}

interface Ages {
  ages: number[];
  exact: boolean;
}

/** What is known of a provider's sets: urls counted, and urls that may be there, by age group. */
interface Found {
  counted: number[];
  guessed: number[];
}

/** The ages of each provider's urls, so that they add up to what the provider has waiting. */
function readAges(
  db: Db,
  nowS: number,
  waiting: ReadonlyMap<number, number>,
  countedRows: number,
): Map<number, Ages> {
  const found = readSets(db, nowS, countedRows);
  const ages = new Map<number, Ages>();
  for (const [pid, urls] of waiting) {
    const { counted, guessed } = found.get(pid) ?? empty();
    const guesses = sum(guessed);
    const rest = Math.max(0, urls - sum(counted));
    if (guesses > 0) {
      ages.set(pid, { ages: shared(counted, guessed, guesses, rest), exact: false });
    } else {
      // What belongs to no set is being absorbed just now.
      counted[0] = (counted[0] ?? 0) + rest;
      ages.set(pid, { ages: counted, exact: true });
    }
  }
  return ages;
}

/** The counted ones, and `rest` divided as guessed. */
function shared(
  counted: readonly number[],
  guessed: readonly number[],
  guesses: number,
  rest: number,
): number[] {
  let left = rest;
  let guessesLeft = guesses;
  return counted.map((count, group) => {
    const guess = guessed[group] ?? 0;
    const share = guessesLeft === 0 ? 0 : Math.round((left * guess) / guessesLeft);
    left -= share;
    guessesLeft -= guess;
    return count + share;
  });
}

function readSets(db: Db, nowS: number, countedRows: number): Map<number, Found> {
  const found = new Map<number, Found>();
  const first = db
    .prepare<[number, number], number>('SELECT pos FROM qdb WHERE pos BETWEEN ? AND ? ORDER BY pos LIMIT 1')
    .pluck();
  const last = db
    .prepare<[number, number], number>(
      'SELECT pos FROM qdb WHERE pos BETWEEN ? AND ? ORDER BY pos DESC LIMIT 1',
    )
    .pluck();
  const count = db
    .prepare<[number, number], number>('SELECT count(*) FROM qdb WHERE pos BETWEEN ? AND ?')
    .pluck();
  const sets = db
    .prepare<[], [number, number, number, number]>(
      'SELECT pid, min(firstpos), max(lastpos), max(absorbedat) FROM qpsdb GROUP BY psetid',
    )
    .raw()
    .all();
  let toCount = countedRows;
  let toLookUp = LOOKED_UP_SETS;
  for (const [pid, from, to, absorbedAtS] of sets) {
    const of = found.get(pid) ?? empty();
    found.set(pid, of);
    const group = groupOf(nowS - absorbedAtS);
    let places = to - from + 1;
    if (toLookUp-- > 0) {
      const head = first.get(from, to);
      places = head === undefined ? 0 : (last.get(head, to) ?? head) - head + 1;
    }
    if (places <= toCount) {
      toCount -= places;
      of.counted[group] = (of.counted[group] ?? 0) + (places === 0 ? 0 : (count.get(from, to) ?? 0));
    } else {
      of.guessed[group] = (of.guessed[group] ?? 0) + places;
    }
  }
  return found;
}

function empty(): Found {
  return { counted: Array<number>(GROUPS).fill(0), guessed: Array<number>(GROUPS).fill(0) };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function groupOf(ageS: number): number {
  const group = AGE_MINUTES.findIndex(minutes => ageS < minutes * 60);
  return group < 0 ? GROUPS - 1 : group;
}
