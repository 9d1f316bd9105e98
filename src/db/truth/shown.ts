/** What a provider is shown of its score, in whole numbers. Counts are of days, the older the less they count. */
import { isDoubted, type ProviderTruth } from './reader.js';

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
  const { changed, same, failed, audited, silent, late, dead, noisy } = known.counts;
  const counts = { changed, same, failed, audited, silent, late, dead, noisy };
  const whole = Object.fromEntries(
    Object.entries(counts).map(([name, count]) => [name, Math.round(count)]),
  ) as typeof counts;
  const { audit } = known;
  return {
    score: known.truth,
    known: Object.values(counts).some(count => count > 0),
    ...whole,
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

function percent(share: number): number {
  return Math.round(1000 * share) / 10;
}
