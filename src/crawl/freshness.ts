/** Worth of asking for a page again (docs/design/spidering.md): the share of time that a request now makes it
 * fresh for. Pages are taken to change as by a Poisson process, at a rate that earlier visits tell. */
const DAY_S = 86_400;
/** Rate of a page, and a provider, of which nothing is known: once in seven days. */
const UNKNOWN_RATE = 1 / (7 * DAY_S);

/** Visits of a page, or of all pages of a provider. */
export interface Visits {
  n: number;
  /** Those among them that found it changed. */
  x: number;
  /** Seconds between them. */
  t: number;
}

/** Changes a second; undefined without visits that tell. What never changed has a rate all the same, and is
 * asked again. */
export function rateOf({ n, x, t }: Visits): number | undefined {
  if (n <= 0 || t <= 0) return undefined;
  return (-Math.log((n - x + 0.5) / (n + 1)) * n) / t;
}

/** The rate of pages of a provider without visits of their own. */
export function pooledRate(all: Visits): number {
  return rateOf(all) ?? UNKNOWN_RATE;
}

/**
 * @param rate changes a second @param ageS seconds since it was asked last, below 0 as 0
 * @returns seconds of freshness that a request buys; grows with age, and is small for what changes faster
 * than it can be asked
 */
export function gainOf(rate: number, ageS: number): number {
  if (rate <= 0) return 0;
  const changes = rate * Math.max(0, ageS);
  // Below, 1 − (1 + c)·e^(−c) is lost among the digits.
  const worth = changes < 1e-4 ? (changes * changes) / 2 : 1 - (1 + changes) * Math.exp(-changes);
  return worth / rate;
}
