/** The wait before another try of one page on one rail: doubled each time, spread so that a crowd does not
 * come back together. */

interface BackoffLimits {
  minMs: number;
  maxMs: number;
}

/** Share by which a wait is shorter or longer. */
const SPREAD = 0.2;

/** The longest that is waited. */
export function mostWaitMs({ maxMs }: BackoffLimits): number {
  return Math.ceil(maxMs * (1 + SPREAD));
}

/** @param tries made so far, from 1 @param random 0 to 1 */
export function tryAgainMs(tries: number, { minMs, maxMs }: BackoffLimits, random: number): number {
  const planMs = Math.min(maxMs, minMs * 2 ** Math.min(30, tries - 1));
  return Math.round(planMs * (1 + SPREAD * (2 * random - 1)));
}
