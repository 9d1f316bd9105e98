/** When a page that its owner has not deleted is gone: what visits say of it. */

/** Status of what was there. */
export const GONE = 410;
const NOT_FOUND = 404;
const HOUR_S = 3600;
/** Failures one after the other, and the time since the first, after which a page that is not said to be gone
 * is. */
const MOST_FAILURES = 5;
const FAILING_S = 7 * 86_400;

/** Failures of a page. Times are seconds since 1970. */
export interface PageFailures {
  /** When it was asked for last. */
  checked: number;
  /** One after the other. */
  fails: number;
  failcode: number | null;
  failsince: number | null;
}

/**
 * A page is gone. `said`: the site says so, or has not had it for a week. `missed`: it was not found within
 * hours, has moved for good, or is what others are by now, which is no more than an outage or a login does to
 * a site.
 */
export type Gone = 'said' | 'missed';

/**
 * Meaning of a failure for a page that is held.
 * @param code status, or code of lcc-codes(7) @param nowS seconds since 1970 @param isElsewhere it is not to
 * be had under its url
 * @returns `said`: 410; any failure five times in a row, over seven days. `missed`: 404 twice, an hour apart,
 * or elsewhere. `too-soon`: 404 again within the hour, which says no more than the first one. `failing`: one
 * more
 */
export function verdictOf(
  before: PageFailures,
  code: number,
  nowS: number,
  isElsewhere: boolean,
): Gone | 'too-soon' | 'failing' {
  if (code === GONE) return 'said';
  const failsince = before.failsince ?? nowS;
  if (before.fails + 1 >= MOST_FAILURES && nowS - failsince >= FAILING_S) return 'said';
  if (isElsewhere) return 'missed';
  const isSecond = code === NOT_FOUND && before.failcode === NOT_FOUND;
  const sinceS = nowS - before.checked;
  if (isSecond && sinceS >= HOUR_S) return 'missed';
  return isSecond && sinceS >= 0 ? 'too-soon' : 'failing';
}
