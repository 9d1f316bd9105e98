/** How certain a share is that a sample shows: one-sided bounds after Clopper and Pearson (Biometrika 26,
 * 1934). */

/** Share of errors that is left out on the one side. */
const ALPHA = 0.05;
const STEPS = 60;

/** At most that share of all has what `hits` of `sample` have, at 95 %; 1 where nothing was sampled. */
export function upperShare(hits: number, sample: number): number {
  if (sample <= 0 || hits >= sample) return 1;
  return solve(share => atMost(hits, sample, share) - ALPHA);
}

/** At least that share, at 95 %; 0 where nothing was sampled. */
export function lowerShare(hits: number, sample: number): number {
  if (sample <= 0 || hits <= 0) return 0;
  return solve(share => ALPHA - (1 - atMost(hits - 1, sample, share)));
}

/** Probability of at most `hits` of `sample`, each with probability `share`. */
function atMost(hits: number, sample: number, share: number): number {
  if (share <= 0) return 1;
  if (share >= 1) return hits >= sample ? 1 : 0;
  let logTerm = sample * Math.log1p(-share);
  let sum = Math.exp(logTerm);
  const logOdds = Math.log(share) - Math.log1p(-share);
  for (let i = 1; i <= hits; i++) {
    logTerm += Math.log((sample - i + 1) / i) + logOdds;
    sum += Math.exp(logTerm);
  }
  return Math.min(1, sum);
}

/** Where a function that falls from 0 to 1 is 0. */
function solve(falls: (share: number) => number): number {
  let [low, high] = [0, 1];
  for (let step = 0; step < STEPS; step++) {
    const middle = (low + high) / 2;
    if (falls(middle) > 0) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
