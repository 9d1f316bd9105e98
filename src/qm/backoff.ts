/** How long to leave alone what did not work. */

export interface BackoffRules {
  minMs: number;
  maxMs: number;
}

/**
 * The wait after `failures` failures in a row (1, 2, …): doubling, at most `maxMs`, and of that between half
 * and all, so that what failed together does not come back together.
 * @param random 0 to 1
 */
export function backoffMs(rules: BackoffRules, failures: number, random: number): number {
  const whole = Math.min(rules.maxMs, rules.minMs * 2 ** Math.min(failures - 1, 40));
  return Math.round(whole * (0.5 + random / 2));
}
