/** Homes of one LCC, side by side (lcc-cluster(7)): the numbers of each are its own. */

/** The highest number of a shard: numbers of rows keep 15 digits. */
export const MAX_SHARD = 899;
/** Shard N gives out the numbers above N × this, below those of N + 1: rows of all homes differ. */
export const SHARD_NUMBERS = 2 ** 40;

/** The number before the first of the home that has given out `number`. */
export function beforeFirst(number: number): number {
  return number - (number % SHARD_NUMBERS);
}
