/** The scores of providers as lcc.db has them now. */
import { lowerShare, upperShare } from '../../lib/binomial.js';
import type { Db } from '../sqlite/open.js';
import { dayOf, KEPT_DAYS, weighted, type DayCounts } from './days.js';
import { truthOf } from './score.js';

/** Worth of a provider's announcements. Counts are of days, the older the less they count. */
export interface ProviderTruth {
  pid: number;
  /** 0 to 100. */
  truth: number;
  precision: number;
  recall: number;
  counts: DayCounts;
  /** The counts of each day that has any, the oldest first, as they are. */
  days: readonly DayRow[];
  /** True if it has effects. */
  hasEffects: boolean;
  /** True if its priority is one lower for its score. */
  isLowered: boolean;
  /** The last audit of which anything is settled: when, in seconds, and which share of what is held is
   * silent, at 95 %. */
  audit: { at: number; settled: number; silent: number; least: number; most: number } | undefined;
}

interface AuditRow {
  pid: number;
  at: number;
  settled: number;
  silent: number;
}

interface Of {
  pid?: number;
}

/** `day` is of those since 1970. */
export type DayRow = DayCounts & { pid: number; day: number };

/** Below this a score has effects. */
export const LOW_SCORE = 50;

/** True if a score is so low that it has effects on its provider. */
export function isDoubted({ truth, hasEffects }: ProviderTruth): boolean {
  return hasEffects && truth < LOW_SCORE;
}

/** From here on it is good. */
const GOOD_SCORE = 80;

export type ScoreClass = 'low' | 'fair' | 'good' | 'unknown';

/** unknown: nothing that a score is made of has been counted. */
export function scoreClass({ truth, counts }: ProviderTruth): ScoreClass {
  const { changed, same, failed, audited } = counts;
  if (changed + same + failed + audited === 0) return 'unknown';
  if (truth < LOW_SCORE) return 'low';
  return truth < GOOD_SCORE ? 'fair' : 'good';
}

export class TruthReader {
  readonly #all;
  readonly #one;

  constructor(db: Db) {
    this.#all = statements(db, '1');
    this.#one = statements(db, 'pid = $pid');
  }

  /** @param pid left out: of all that there are, in the order of their numbers */
  read(nowS: number, pid?: number): ProviderTruth[] {
    const today = dayOf(nowS);
    const select = pid === undefined ? this.#all : this.#one;
    const of = pid === undefined ? {} : { pid };
    const days = grouped(select.days.all({ ...of, since: today - KEPT_DAYS }));
    const audits = new Map(select.audits.all(of).map(audit => [audit.pid, audit]));
    return select.providers.all(of).map(({ pid: one, truthmode }) => {
      const own = days.get(one) ?? [];
      const counts = weighted(own, today);
      const { score, precision, recall } = truthOf(counts);
      const audit = audits.get(one);
      return {
        pid: one,
        truth: score,
        precision,
        recall,
        counts,
        days: own,
        hasEffects: truthmode > 0,
        isLowered: truthmode === 2,
        audit: audit && {
          at: audit.at,
          settled: audit.settled,
          silent: audit.silent,
          least: lowerShare(audit.silent, audit.settled),
          most: upperShare(audit.silent, audit.settled),
        },
      };
    });
  }
}

/** @param which of the rows; a condition on `pid` that has its index */
function statements(db: Db, which: string) {
  return {
    providers: db.prepare<Of, { pid: number; truthmode: number }>(
      `SELECT pid, truthmode FROM pidb WHERE ${which} ORDER BY pid`,
    ),
    days: db.prepare<Of & { since: number }, DayRow>(
      `SELECT * FROM truth WHERE ${which} AND day > $since ORDER BY pid, day`,
    ),
    audits: db.prepare<Of, AuditRow>(
      `SELECT pid, coalesce(max(asked), 0) AS at, sum(state BETWEEN 2 AND 5) AS settled, sum(state IN (4, 5)) AS silent
       FROM audit WHERE ${which} GROUP BY pid HAVING settled > 0`,
    ),
  };
}

function grouped(days: readonly DayRow[]): Map<number, DayRow[]> {
  const groups = new Map<number, DayRow[]>();
  for (const day of days) {
    const group = groups.get(day.pid);
    if (group === undefined) groups.set(day.pid, [day]);
    else group.push(day);
  }
  return groups;
}
