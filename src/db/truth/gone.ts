/** When a page that its owner has not deleted is gone: what visits say of it. */

/** Status of what was there. */
export const GONE = 410;
const NOT_FOUND = 404;
const HOUR_S = 3600;
/** Failures one after the other, and the time since the first, after which a page that is not said to be gone is. */
const MOST_FAILURES = 5;
const FAILING_S = 7 * 86_400;

/** What is known of failures of a page. Times are seconds since 1970. */
export interface PageFailures {
  /** When it was asked for last. */
  checked: number;
  /** One after the other. */
  fails: number;
  failcode: number | null;
  failsince: number | null;
}

/**
 * What a failure means for a page that is held.
 * @param code status, or code of lcc-codes(7) @param nowS seconds since 1970
 * @returns `gone`: 410; 404 twice, an hour apart; any failure five times in a row, over seven days. `too-soon`: 404 again within the
 * hour, which says no more than the first one. `failing`: one more
 */
export function verdictOf(before: PageFailures, code: number, nowS: number): 'gone' | 'too-soon' | 'failing' {
  if (code === GONE) return 'gone';
  const isSecond = code === NOT_FOUND && before.failcode === NOT_FOUND;
  const sinceS = nowS - before.checked;
  if (isSecond && sinceS >= HOUR_S) return 'gone';
  const failsince = before.failsince ?? nowS;
  if (before.fails + 1 >= MOST_FAILURES && nowS - failsince >= FAILING_S) return 'gone';
  return isSecond && sinceS >= 0 ? 'too-soon' : 'failing';
}
