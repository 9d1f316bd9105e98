/** Waits that double with each failure in a row. */

/** Milliseconds. */
export interface Backoff {
  minMs: number;
  maxMs: number;
}

/** `minMs`, doubled for each failure after the first, at most `maxMs`. @param failures in a row, from 1 */
export function doubledMs({ minMs, maxMs }: Backoff, failures: number): number {
  return Math.min(maxMs, minMs * 2 ** Math.min(40, failures - 1));
}

/**
 * Between half of the doubled wait and all of it, so that what failed together does not come back together.
 * @param random 0 to 1
 */
export function backoffMs(backoff: Backoff, failures: number, random: number): number {
  return Math.round(doubledMs(backoff, failures) * (0.5 + random / 2));
}

/** How long a process or thread that died is left before its next start: doubled each time, within bounds. */
export class RestartDelay {
  readonly #bounds: Backoff;
  /** Deaths in a row. */
  #deaths = 0;

  constructor(minMs: number, maxMs: number) {
    this.#bounds = { minMs, maxMs };
  }

  /** @param livedMs one that lived longer than the longest delay begins with the shortest again */
  afterDeath(livedMs: number): number {
    this.#deaths = livedMs > this.#bounds.maxMs ? 1 : this.#deaths + 1;
    return doubledMs(this.#bounds, this.#deaths);
  }
}
