/**
 * The view of a provider on its score, in whole numbers. Counts are of days, the older the less they count.
 */
import { dateOf, type DayCounts } from './days.js';
import { isDoubted, type DayRow, type ProviderTruth } from './reader.js';

/** New pages and removed ones are in no score. */
const SHOWN = ['changed', 'same', 'failed', 'audited', 'silent', 'late', 'dead', 'noisy'] as const;

type ShownCounts = Pick<DayCounts, (typeof SHOWN)[number]>;

/** Counts of a day in UTC, `2026-11-26`. */
export interface ShownDay extends ShownCounts {
  day: string;
}

/** Days of which each is shown, of those on which anything was counted. */
const DAYS_SHOWN = 30;

export interface ShownTruth extends ShownCounts {
  /** 0 to 100. */
  score: number;
  /** True if anything has been counted yet; if not, the score is the one that all begin with. */
  known: boolean;
  /** The last ones on which anything was counted, the newest first. */
  days: ShownDay[];
  /** The last audit of which anything is settled; seconds, and which share of what is held is silent, each
   * bound at 95 %. */
  audit: { at: number; sample: number; silent: number; least_percent: number; most_percent: number } | null;
  /** off: the operator has switched them off. */
  effects: 'none' | 'low' | 'off';
  /** True if the score has lowered its priority by one. */
  lowered: boolean;
  /** Unasked full sets that it may send in a period. */
  full_sets: number;
}

export function shownTruth(known: ProviderTruth, fullsetsallowed: number): ShownTruth {
  const { audit } = known;
  return {
    score: known.truth,
    known: isCounted(known.counts),
    ...shownCounts(known.counts),
    days: known.days.filter(isCounted).slice(-DAYS_SHOWN).map(shownDay).toReversed(),
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

/** A provider that announces what has not changed has only a part of its unasked full sets taken. */
export function fullSetsFor(known: ProviderTruth, fullsetsallowed: number): number {
  return isDoubted(known) ? Math.ceil(fullsetsallowed * known.precision) : fullsetsallowed;
}

function shownCounts(counts: DayCounts): ShownCounts {
  return Object.fromEntries(SHOWN.map(name => [name, Math.round(counts[name])])) as ShownCounts;
}

function isCounted(counts: DayCounts): boolean {
  return SHOWN.some(name => counts[name] > 0);
}

function shownDay(row: DayRow): ShownDay {
  return { day: dateOf(row.day), ...shownCounts(row) };
}

function percent(share: number): number {
  return Math.round(1000 * share) / 10;
}
