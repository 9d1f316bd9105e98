/** The scores of providers as lcc.db has them now. */
import { lowerShare, upperShare } from '../../lib/binomial.js';
import type { Db } from '../sqlite/open.js';
import { dayOf, KEPT_DAYS, weighted, type DayCounts } from './days.js';
import { truthOf } from './score.js';

/** What announcements of a provider are worth. Counts are of days, the older the less they count. */
export interface ProviderTruth {
  pid: number;
  /** 0 to 100. */
  truth: number;
  precision: number;
  recall: number;
  counts: DayCounts;
  /** The last audit of which anything is settled: which share of what is held is silent, at 95 %. */
  audit: { settled: number; silent: number; least: number; most: number } | undefined;
}

interface AuditRow {
  pid: number;
  settled: number;
  silent: number;
}

type DayRow = DayCounts & { pid: number; day: number };

/** @param pid left out: of all that there are, in the order of their numbers */
export function readTruth(db: Db, nowS: number, pid?: number): ProviderTruth[] {
  const today = dayOf(nowS);
  const of = { pid: pid ?? null };
  const pids = db
    .prepare<{ pid: number | null }, number>(
      'SELECT pid FROM pidb WHERE $pid IS NULL OR pid = $pid ORDER BY pid',
    )
    .pluck()
    .all(of);
  const days = db
    .prepare<{ pid: number | null; since: number }, DayRow>(
      'SELECT * FROM truth WHERE ($pid IS NULL OR pid = $pid) AND day > $since',
    )
    .all({ ...of, since: today - KEPT_DAYS });
  const audits = db
    .prepare<{ pid: number | null }, AuditRow>(
      `SELECT pid, sum(state BETWEEN 2 AND 5) AS settled, sum(state IN (4, 5)) AS silent FROM audit
       WHERE ($pid IS NULL OR pid = $pid) GROUP BY pid HAVING settled > 0`,
    )
    .all(of);
  const daysOf = grouped(days);
  const auditOf = new Map(audits.map(audit => [audit.pid, audit]));
  return pids.map(one => {
    const counts = weighted(daysOf.get(one) ?? [], today);
    const { score, precision, recall } = truthOf(counts);
    const audit = auditOf.get(one);
    return {
      pid: one,
      truth: score,
      precision,
      recall,
      counts,
      audit: audit && {
        settled: audit.settled,
        silent: audit.silent,
        least: lowerShare(audit.silent, audit.settled),
        most: upperShare(audit.silent, audit.settled),
      },
    };
  });
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
