/** Which pages of a provider are asked for again: those that gain most by it, and all that nobody has asked
 * for in 90 days. One pass over its rows, in memory as much as is chosen. */
import { Best, type Rated } from './best.js';

export interface ScannedRow extends Visits {
  id: number;
  /** When it was fetched or confirmed last. */
  checkedS: number;
  /** After a failure that left its content: when it is asked for again at the earliest. */
  retryS?: number | undefined;
  /** True if the page was not found: it goes before anything else, for it may be gone. */
  isSecondLook?: boolean;
}

/** Seconds within which a page that was asked for, or announced, is passed over. */
export const LEAST_AGE_S = 3600;
const MOST_AGE_S = 90 * 86_400;

/** For how long a page has not been asked for. One of the future was noted while the clock was ahead: long
 * enough. */
export function ageOf(checkedS: number, nowS: number): number {
  return checkedS > nowS ? LEAST_AGE_S : nowS - checkedS;
}

export class Choice {
  readonly #nowS: number;
  readonly #isFree: (id: number) => boolean;
  readonly #visited: Best;
  /** Rows without a visit, by age: what they gain is known once all visits of the provider are. */
  readonly #unvisited: Best;
  readonly #most: number;
  readonly #all: Visits = { n: 0, x: 0, t: 0 };

  /**
   * @param most to choose @param isFree whether a row does not wait in the queue already; asked of those
   * alone that would be chosen
   */
  constructor(most: number, nowS: number, isFree: (id: number) => boolean) {
    this.#most = most;
    this.#nowS = nowS;
    this.#isFree = isFree;
    this.#visited = new Best(most);
    this.#unvisited = new Best(most);
  }

  /** @returns whether it is to be asked for at once: nobody has in 90 days */
  add(row: ScannedRow): boolean {
    this.#all.n += row.n;
    this.#all.x += row.x;
    this.#all.t += row.t;
    const ageS = ageOf(row.checkedS, this.#nowS);
    if (ageS < LEAST_AGE_S) return false;
    if (ageS > MOST_AGE_S) return this.#isFree(row.id);
    const waits = row.checkedS <= this.#nowS && row.retryS !== undefined && row.retryS > this.#nowS;
    if (this.#most <= 0 || waits) return false;
    const rate = row.isSecondLook === true ? Infinity : rateOf(row);
    const [best, worth] = rate === undefined ? [this.#unvisited, ageS] : [this.#visited, worthOf(rate, ageS)];
    if (best.wants(row.id, worth) && this.#isFree(row.id)) best.add({ id: row.id, worth });
    return false;
  }

  /** Ids, those that gain most first. */
  chosen(): number[] {
    const rate = pooledRate(this.#all);
    const both = new Best(this.#most);
    const unvisited = this.#unvisited
      .ranked()
      .map(({ id, worth }): Rated => ({ id, worth: gainOf(rate, worth) }));
    for (const rated of [...this.#visited.ranked(), ...unvisited]) both.add(rated);
    return both.ranked().map(({ id }) => id);
  }
}

function worthOf(rate: number, ageS: number): number {
  return rate === Infinity ? Infinity : gainOf(rate, ageS);
}

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
 * Worth of asking for a page again (docs/design/spidering.md): the share of time that a request now makes it
 * fresh for. Pages are taken to change as by a Poisson process, at a rate that earlier visits tell.
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
