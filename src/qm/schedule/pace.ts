/**
 * The pace of providers: how long a site is left alone between the end of one fetch and the beginning of the
 * next. With one, urls are fetched one at a time, whatever else the provider is allowed, and nothing is sent
 * ahead.
 */

/** No pause is longer (`qm.pace_ms`). */
const LONGEST_PACE_MS = 3_600_000;

/** Between two fetches of what nobody announced, from a provider that says nothing else. */
const SPIDER_PACE_MS = 1000;
/** A fetch that took long is answered by a pause this many times as long … */
const SHARE = 2;
/** … as far as that is no longer than this; and robots.txt is given what it wishes as far as this. */
const LONGEST_SHARE_MS = 30_000;
const LONGEST_WISH_MS = 60_000;

/** Pace of a provider; null: what is configured. */
interface PaceTerm {
  pacems: number | null;
  /** 1: urls that nobody announced are fetched, too. */
  spider: number;
}

/** The last fetch of a provider. */
export interface LastFetch {
  /** Monotonic. */
  endedMs: number;
  tookMs: number;
}

/** The next fetch: of its owner's urls, or of one that nobody announced, with the pause that robots.txt
 * wishes for (0: none). */
export interface NextFetch {
  isUnasked: boolean;
  wishMs: number;
}

export class Pace {
  readonly #defaultMs: number;

  /** @param defaultMs of a provider that says nothing else; 0 = none */
  constructor(defaultMs: number) {
    this.#defaultMs = defaultMs;
  }

  /** True if there is a pause between two fetches from the provider. */
  isKept(provider: PaceTerm): boolean {
    return this.#leastMs(provider) > 0;
  }

  /** How many of its urls are fetched at a time. */
  parallelOf(provider: PaceTerm & { parallel: number }): number {
    return this.isKept(provider) ? 1 : provider.parallel;
  }

  /** No fetch begins before; monotonic. */
  untilMs(provider: PaceTerm, { endedMs, tookMs }: LastFetch, { isUnasked, wishMs }: NextFetch): number {
    if (!this.isKept(provider)) return -Infinity;
    const ownerMs = provider.pacems ?? this.#defaultMs;
    // safeguard: the pause between fetches of what nobody announced
    if (!isUnasked) return ownerMs === 0 ? -Infinity : endedMs + ownerMs;
    const shareMs = Math.min(SHARE * tookMs, LONGEST_SHARE_MS);
    return endedMs + Math.max(this.#leastMs(provider), shareMs, Math.min(wishMs, LONGEST_WISH_MS));
  }

  #leastMs({ pacems, spider }: PaceTerm): number {
    return pacems ?? Math.max(this.#defaultMs, spider === 0 ? 0 : SPIDER_PACE_MS);
  }
}

/** When the last fetch from each provider with a pace ended: also of those that have nothing queued for the
 * moment. What was fetched before the start ended at the start at the latest. */
export class LastEnds {
  readonly #startMs: number;
  /** In the order of their times. */
  readonly #ends = new Map<number, LastFetch>();

  /** @param startMs monotonic */
  constructor(startMs: number) {
    this.#startMs = startMs;
  }

  /** Providers that are remembered: those of the longest pause there is. */
  get size(): number {
    return this.#ends.size;
  }

  of(pid: number): LastFetch {
    return this.#ends.get(pid) ?? { endedMs: this.#startMs, tookMs: 0 };
  }

  note(pid: number, last: LastFetch): void {
    this.#ends.delete(pid);
    this.#ends.set(pid, last);
    for (const [other, { endedMs }] of this.#ends) {
      if (endedMs > last.endedMs - LONGEST_PACE_MS) return;
      this.#ends.delete(other);
    }
  }
}
