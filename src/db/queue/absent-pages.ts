/**
 * Urls that were asked for unasked and are not held (table `known`): until its time has come, `ifabsent` of
 * what nobody announced takes it for present, so that a crawl ends. All methods run inside the caller's
 * transaction.
 */
import { doubledMs } from '../../lib/backoff.js';
import { LEAVES_ROOTS, ROBOTS_FORBID, SITE_WISHES, UNPERMITTED } from '../../wire/codes.js';
import type { ErrorReach } from '../../wire/fetch.js';
import type { Db } from '../sqlite/open.js';
import { SqlStore } from '../sqlite/sql-store.js';

const DAY_S = 86_400;
/** The longest that a page is known not to be had. */
export const LONGEST_S = 90 * DAY_S;
/** Rows that go at a time where a provider has too many. */
const DROPPED_AT_A_TIME = 1000;
/** Rows whose time a flush ends: the queue waits meanwhile (half a second). Another flush ends that of
 * further ones. */
const MAX_FLUSHED = 100_000;

/** Why a page is not to be had. */
export type Absence =
  /** An answer that stands for long, as 404; doubled each time. */
  | 'gone'
  /** The same of a page that was held, which may be back soon: asked for within half a day, and as `gone` in
   * a week. */
  | 'lost'
  /** Failures that may pass, until no more tries were left; doubled each time. */
  | 'failed'
  | 'redirect'
  /** A type that is not taken; a page that no index is to keep. */
  | 'unwanted'
  | 'robots'
  /** The LCC itself does not permit it: noted for those who look, and asked for whenever a link names it
   * again. */
  | 'unpermitted';

/** For how long, the first time, and whether each further time in a row is twice as long. */
const TERMS: Record<Absence, readonly [seconds: number, doubles: boolean]> = {
  gone: [7 * DAY_S, true],
  lost: [7 * DAY_S, true],
  failed: [DAY_S, true],
  redirect: [7 * DAY_S, false],
  unwanted: [30 * DAY_S, false],
  robots: [DAY_S, false],
  unpermitted: [0, false],
};

/** The value of `times` for a page that was lost: a week is halved four times. */
const LOST_TIMES = -3;

/** A type that is not taken. */
const UNACCEPTED = 303;

interface KnownRow {
  code: number;
  times: number;
  asked: number;
}

export class AbsentPagesStore extends SqlStore {
  readonly #selectUntil = this.sql.number<[pid: number, curl: string]>(
    'SELECT until FROM known WHERE pid = ? AND curl = ?',
  );
  readonly #select = this.sql.row<[pid: number, curl: string], KnownRow>(
    'SELECT code, times, asked FROM known WHERE pid = ? AND curl = ?',
  );
  readonly #upsert = this.sql.run<
    [KnownRow & { pid: number; curl: string; until: number; hops: number | null }]
  >(
    `INSERT INTO known(pid, curl, code, times, asked, until, hops)
     VALUES ($pid, $curl, $code, $times, $asked, $until, $hops)
     ON CONFLICT(pid, curl) DO UPDATE SET code = $code, times = $times, asked = $asked, until = $until, hops = $hops`,
  );
  readonly #delete = this.sql.changes<[pid: number, curl: string]>(
    'DELETE FROM known WHERE pid = ? AND curl = ?',
  );
  readonly #deletePermitted = this.sql.changes<[pid: number, curl: string]>(
    `DELETE FROM known WHERE pid = ? AND curl = ? AND code NOT IN (${SITE_WISHES.join()})`,
  );
  readonly #pids = this.sql.values<[], number>('SELECT pid FROM pidb');
  readonly #end = this.sql.changes<[values: { pid: number; nowS: number; most: number }]>(
    `UPDATE known SET until = $nowS WHERE pid = $pid AND curl IN
       (SELECT curl FROM known INDEXED BY known_until WHERE pid = $pid AND until > $nowS LIMIT $most)`,
  );
  readonly #count = this.sql.number<[pid: number]>('SELECT count(*) FROM known WHERE pid = ?');
  readonly #deleteOldest = this.sql.changes<[values: { pid: number; count: number }]>(
    `DELETE FROM known WHERE pid = $pid AND curl IN
       (SELECT curl FROM known INDEXED BY known_until WHERE pid = $pid ORDER BY until LIMIT $count)`,
  );
  readonly #most: number;
  /** Rows of the providers of which some were noted. */
  readonly #counts = new Map<number, number>();

  /** @param most rows of a provider */
  constructor(db: Db, most = 1_000_000) {
    super(db);
    this.#most = most;
  }

  /** True if anything is known so of a provider. */
  readonly hasAny = this.sql.has<[pid: number]>('SELECT 1 FROM known WHERE pid = ? LIMIT 1');

  /** The owner has announced the url, or content has come. */
  forget(pid: number, curl: string): void {
    const changes = this.#delete(pid, curl);
    this.#counted(pid, -changes);
  }

  /** A person asks for it: only what the site itself wishes still counts. */
  askAgain(pid: number, curl: string): void {
    const changes = this.#deletePermitted(pid, curl);
    this.#counted(pid, -changes);
  }

  /**
   * Urls of a provider, or of all, that are known not to be had keep no link of now from being fetched.
   * @param most rows, those first whose time would end first @returns providers that had any
   */
  flush(nowS: number, pid?: number, most = MAX_FLUSHED): number[] {
    const pids = pid === undefined ? this.#pids() : [pid];
    return pids.filter(one => {
      const changes = this.#end({ pid: one, nowS, most });
      most -= changes;
      return changes > 0;
    });
  }

  /** True if it is known that a page is not to be had. */
  isKnown(pid: number, curl: string, nowS: number): boolean {
    const until = this.#selectUntil(pid, curl);
    // Further ahead than anything is noted for: the clock was ahead then.
    return until > nowS && until <= nowS + LONGEST_S;
  }

  /**
   * A page is not to be had.
   * @param code status, or code of lcc-codes(7)
   * @returns since when it has been forbidden, for robots; otherwise now
   */
  note(
    { pid, curl, hops }: { pid: number; curl: string; hops: number | null },
    { code, absence }: { code: number; absence: Absence },
    nowS: number,
  ): number {
    const before = this.#select(pid, curl);
    const isSame = before?.code === code;
    const [seconds, doubles] = TERMS[absence];
    const times = absence === 'lost' ? LOST_TIMES : isSame ? before.times + 1 : 1;
    const lasts = doubles
      ? doubledMs({ minMs: seconds * 1000, maxMs: LONGEST_S * 1000 }, times) / 1000
      : seconds;
    // A forbidden url is not asked for.
    const asked = isSame && code === ROBOTS_FORBID ? before.asked : nowS;
    this.#upsert({ pid, curl, code, times, asked, until: nowS + lasts, hops });
    if (before === undefined) {
      const count = this.#counts.get(pid);
      this.#counts.set(pid, count === undefined ? this.#count(pid) : count + 1);
      this.#dropOldest(pid);
    }
    return asked;
  }

  /** The transaction was rolled back. */
  reset(): void {
    this.#counts.clear();
  }

  /** A provider came from another home, or stays: memory of it is of before. */
  moved(pid: number): void {
    this.#counts.delete(pid);
  }

  #dropOldest(pid: number): void {
    // safeguard: the limit of what is known not to be had
    const excess = (this.#counts.get(pid) ?? 0) - this.#most;
    if (excess <= 0) return;
    const changes = this.#deleteOldest({ pid, count: Math.max(excess, this.#atATime()) });
    this.#counted(pid, -changes);
  }

  #atATime(): number {
    return Math.min(DROPPED_AT_A_TIME, Math.ceil(this.#most / 10));
  }

  #counted(pid: number, by: number): void {
    const count = this.#counts.get(pid);
    if (count !== undefined) this.#counts.set(pid, count + by);
  }
}

/** @param code status, or code of lcc-codes(7) */
export function absenceOf(code: number, reach: ErrorReach): Absence {
  if (code === ROBOTS_FORBID) return 'robots';
  if (code === UNACCEPTED) return 'unwanted';
  if (code === UNPERMITTED) return 'unpermitted';
  if (code === LEAVES_ROOTS) return 'redirect';
  return reach === 'real' ? 'gone' : 'failed';
}
