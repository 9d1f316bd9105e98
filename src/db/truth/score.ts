/**
 * How truthful a provider's announcements are (spidering.md, section 4), 0 to 100: the harmonic mean of two
 * shares.
 *
 *   precision   of the held urls that it announced as updated: how many had changed
 *   recall      of the urls that audits looked at: how many had not changed without a word
 *
 * Counts are of days, each worth half of what it was worth 30 days before; what is little known is drawn to a
 * start of 80.
 */
export interface TruthCounts {
  /** Held urls that were announced as updated, and had changed … */
  changed: number;
  /** … had not … */
  same: number;
  /** … or could not be had. */
  failed: number;
  /** Urls that an audit has settled … */
  audited: number;
  /** … among them those that had changed, or were gone, without a word … */
  silent: number;
  /** … or with one that came after the audit had asked: half as bad. */
  late: number;
}

interface Truth {
  /** 0 to 100, whole. */
  score: number;
  precision: number;
  recall: number;
}

const HALF_LIFE_DAYS = 30;
const LATE_SHARE = 0.5;

export function truthOf({ changed, same, failed, audited, silent, late }: TruthCounts): Truth {
  const precision = (changed + 4) / (changed + same + failed + 5);
  const recall = 1 - (silent + LATE_SHARE * late + 1) / (audited + 5);
  return { score: Math.round((100 * 2 * precision * recall) / (precision + recall)), precision, recall };
}

/** Worth of a day's counts now. @param ageDays whole days */
export function weightOf(ageDays: number): number {
  return 0.5 ** (Math.max(0, ageDays) / HALF_LIFE_DAYS);
}
