/** Remarkable slowness or delay of a rail that is up. It changes nothing about what the rail is sent; the log
 * and the status have it. */

/** Entered above the limit, left below this share of it. */
const SLOW_END = 0.8;
const DELAYED_END = 0.5;

export type MarkChange = 'begins' | 'ends' | undefined;

/** SLOW: its last requests took long on average. */
export class Slowness {
  readonly #limitMs: number;
  readonly #lasted: Float64Array;
  #count = 0;
  #sumMs = 0;
  isSlow = false;

  /** @param window requests that count */
  constructor(window: number, limitMs: number) {
    this.#lasted = new Float64Array(window);
    this.#limitMs = limitMs;
  }

  /** Mean time of the last requests; undefined when there was none. */
  get meanMs(): number | undefined {
    const counted = Math.min(this.#count, this.#lasted.length);
    return counted === 0 ? undefined : this.#sumMs / counted;
  }

  /** A request took this long. */
  add(ms: number): MarkChange {
    const at = this.#count++ % this.#lasted.length;
    this.#sumMs += ms - (this.#lasted[at] ?? 0);
    this.#lasted[at] = ms;
    if (this.#count < this.#lasted.length) return undefined;
    const meanMs = this.#sumMs / this.#lasted.length;
    const { isSlow } = this;
    this.isSlow = isSlow ? meanMs >= SLOW_END * this.#limitMs : meanMs > this.#limitMs;
    return changeOf(isSlow, this.isSlow);
  }
}

/** DELAYED: more waits for it than for the best one of its target. */
export class Lag {
  readonly #limit: number;
  isDelayed = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * @param waiting for this rail @param least for any rail of its target that is up; undefined when it is the
   * only one
   */
  look(waiting: number, least: number | undefined): MarkChange {
    const { isDelayed } = this;
    const ahead = least === undefined ? 0 : waiting - least;
    this.isDelayed = isDelayed ? ahead >= DELAYED_END * this.#limit : ahead > this.#limit;
    if (least === undefined) this.isDelayed = false;
    return changeOf(isDelayed, this.isDelayed);
  }
}

function changeOf(before: boolean, now: boolean): MarkChange {
  return before === now ? undefined : now ? 'begins' : 'ends';
}
