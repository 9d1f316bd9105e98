/**
 * Whether kinds of requests take the same time, on a machine where other work comes between: each round has one of each kind, and what is
 * compared is the difference within a round. What a median of these is, is known within bounds at 99.9 %; rounds go on until the bounds say
 * that it is within the limit, or that it is not.
 */

/** First looked at, and looked at again, after so many rounds. */
const ROUNDS = 15;
const MAX_ROUNDS = 300;
/** Left out on each side. */
const ALPHA = 0.0005;

export interface Difference {
  /** Milliseconds: its median lies between. */
  from: number;
  to: number;
}

/** Where the median lies of what these are samples of; nowhere in particular where there are too few. */
export function medianWithin(samples: readonly number[]): Difference {
  const sorted = samples.toSorted((a, b) => a - b);
  const out = ranksLeftOut(sorted.length);
  return { from: sorted[out - 1] ?? -Infinity, to: sorted[sorted.length - out] ?? Infinity };
}

/** How many of the least (and of the greatest) lie outside of the bounds, with the bound itself. */
function ranksLeftOut(count: number): number {
  let [term, sum, rank] = [0.5 ** count, 0.5 ** count, 0];
  while (sum <= ALPHA) {
    rank++;
    term *= (count - rank + 1) / rank;
    sum += term;
  }
  return rank;
}

/** Undefined: not decided yet. */
export function isSame({ from, to }: Difference, mostMs: number): boolean | undefined {
  if (from >= -mostMs && to <= mostMs) return true;
  return from > mostMs || to < -mostMs ? false : undefined;
}

/** Times of rounds, by kind. */
export type Rounds<Kind extends string> = readonly Readonly<Record<Kind, number>>[];

export function differenceOf<Kind extends string>(rounds: Rounds<Kind>, one: Kind, other: Kind): Difference {
  return medianWithin(rounds.map(round => round[one] - round[other]));
}

/**
 * Rounds until each pair of kinds is decided, at most `MAX_ROUNDS`.
 * @param timed milliseconds of one request of a kind
 */
export async function roundsOf<Kind extends string>(
  kinds: readonly Kind[],
  mostMs: number,
  timed: (kind: Kind) => Promise<number>,
): Promise<Rounds<Kind>> {
  const rounds: Record<Kind, number>[] = [];
  do {
    const round = {} as Record<Kind, number>;
    // Each is the first, the second … as often as the others.
    const first = rounds.length % kinds.length;
    for (const kind of [...kinds.slice(first), ...kinds.slice(0, first)]) round[kind] = await timed(kind);
    rounds.push(round);
  } while (
    rounds.length < MAX_ROUNDS &&
    (rounds.length % ROUNDS !== 0 ||
      pairsOf(kinds).some(([one, other]) => isSame(differenceOf(rounds, one, other), mostMs) === undefined))
  );
  return rounds;
}

export function pairsOf<Kind extends string>(kinds: readonly Kind[]): [Kind, Kind][] {
  return kinds.flatMap((one, i) => kinds.slice(i + 1).map((other): [Kind, Kind] => [one, other]));
}
