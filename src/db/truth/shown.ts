/** What a provider is shown of its score, in whole numbers. Counts are of days, the older the less they count. */
import { isDoubted, type DayRow, type ProviderTruth } from './reader.js';

/** A day in UTC, `2026-11-26`, and what was counted on it. */
export interface ShownDay {
  day: string;
  changed: number;
  same: number;
  failed: number;
  audited: number;
  silent: number;
  late: number;
  dead: number;
  noisy: number;
}

/** Days of which each is shown, of those on which anything was counted. */
const DAYS_SHOWN = 30;
const DAY_MS = 86_400_000;

export interface ShownTruth {
  /** 0 to 100. */
  score: number;
  /** Whether anything has been counted yet; if not, the score is the one that all begin with. */
  known: boolean;
  changed: number;
  same: number;
  failed: number;
  audited: number;
  silent: number;
  late: number;
  dead: number;
  noisy: number;
  /** The last ones on which anything was counted, the newest first. */
  days: ShownDay[];
  /** The last audit of which anything is settled; seconds, and which share of what is held is silent, each bound at 95 %. */
  audit: { at: number; sample: number; silent: number; least_percent: number; most_percent: number } | null;
  /** off: the operator has switched them off. */
  effects: 'none' | 'low' | 'off';
  /** Its priority is one lower for its score. */
  lowered: boolean;
  /** Unasked full sets that it may send in a period. */
  full_sets: number;
}

export function shownTruth(known: ProviderTruth, fullsetsallowed: number): ShownTruth {
  const counts = shownCounts(known.counts);
  const whole = Object.fromEntries(
    Object.entries(counts).map(([name, count]) => [name, Math.round(count)]),
  ) as typeof counts;
  const { audit } = known;
  return {
    score: known.truth,
    known: Object.values(counts).some(count => count > 0),
    ...whole,
    days: known.days.map(shownDay).filter(isCounted).slice(-DAYS_SHOWN).toReversed(),
    audit:
      audit === undefined
        ? null
        : {
            at: audit.at,
            sample: audit.settled,
            silent: audit.silent,
            least_percent: percent(audit.least),
            most_percent: percent(audit.most),
          },
    effects: known.hasEffects ? (isDoubted(known) ? 'low' : 'none') : 'off',
    lowered: known.isLowered,
    full_sets: fullSetsFor(known, fullsetsallowed),
  };
}

/** Of a provider that announces what has not changed only a part of its unasked full sets is taken. */
export function fullSetsFor(known: ProviderTruth, fullsetsallowed: number): number {
  return isDoubted(known) ? Math.ceil(fullsetsallowed * known.precision) : fullsetsallowed;
}

function shownCounts(counts: Omit<ShownDay, 'day'>): Omit<ShownDay, 'day'> {
  const { changed, same, failed, audited, silent, late, dead, noisy } = counts;
  return { changed, same, failed, audited, silent, late, dead, noisy };
}

function shownDay(row: DayRow): ShownDay {
  return { day: new Date(row.day * DAY_MS).toISOString().slice(0, 10), ...shownCounts(row) };
}

/** New pages and removed ones are in no score. */
function isCounted({ day: _day, ...counts }: ShownDay): boolean {
  return Object.values(counts).some(count => count > 0);
}

function percent(share: number): number {
  return Math.round(1000 * share) / 10;
}
