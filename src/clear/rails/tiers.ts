/** Rails of one tier get a page together; those of the next when all of these are done with it: a cache that
 * is cleared before the server it asks would fetch the old page again. */
import type { Rail } from './rail.js';

/**
 * @param send has something done on a rail, and calls `over` when that is finished, maybe before it returns
 * @param complete called once, at once where there are no rails
 */
export function throughTiers(
  rails: readonly Rail[],
  send: (rail: Rail, over: () => void) => void,
  complete: () => void,
): void {
  const sorted = rails.toSorted((a, b) => a.row.tier - b.row.tier);
  const nextTier = (from: number): void => {
    const first = sorted[from];
    if (first === undefined) return complete();
    const tier = sorted.slice(from).filter(({ row }) => row.tier === first.row.tier);
    const over = countdown(tier.length, () => nextTier(from + tier.length));
    for (const rail of tier) send(rail, over);
  };
  nextTier(0);
}

/** Calls `last` with the n-th call, at once if that is none. */
export function countdown(n: number, last: () => void): () => void {
  let left = n;
  if (left === 0) last();
  return () => {
    if (--left === 0) last();
  };
}
