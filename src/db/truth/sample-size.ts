/** How many urls an audit takes. */

/** None of 59 silent: fewer than 5 % are, at 95 % (0.95⁵⁹ = 0.048). */
const FIRST = 59;
/** Sample of a large site for ± 5 points. */
const LARGE = 385;

/** In all. @param held of the provider @param silent found silent so far */
export function sampleSize(held: number, silent: number): number {
  if (silent === 0) return Math.min(held, FIRST);
  return Math.min(held, Math.ceil((LARGE * held) / (LARGE - 1 + held)));
}

/** Urls of a provider that audits ask for in a day, at most. */
export function dailySample(held: number): number {
  return Math.max(FIRST, Math.ceil(held / 100));
}
