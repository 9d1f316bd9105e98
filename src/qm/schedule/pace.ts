/**
 * The pace of providers: how long a site is left alone between the end of one fetch and the beginning of the next. With one,
 * urls are fetched one at a time, whatever else the provider is allowed, and nothing is sent ahead.
 */

/** No pause is longer (`qm.pace_ms`). */
const LONGEST_PACE_MS = 3_600_000;

/** What a provider says of it; null: what is configured. */
interface PaceTerm {
  pacems: number | null;
}

export class Pace {
  readonly #defaultMs: number;

  /** @param defaultMs of a provider that says nothing else; 0 = none */
  constructor(defaultMs: number) {
    this.#defaultMs = defaultMs;
  }

  /** Whether there is a pause between two fetches from the provider. */
  isKept(provider: PaceTerm): boolean {
    return this.#pauseMs(provider) > 0;
  }

  /** How many of its urls are fetched at a time. */
  parallelOf(provider: PaceTerm & { parallel: number }): number {
    return this.isKept(provider) ? 1 : provider.parallel;
  }

  /** No fetch begins before. @param endedMs when the last one ended */
  untilMs(provider: PaceTerm, endedMs: number): number {
    return this.isKept(provider) ? endedMs + this.#pauseMs(provider) : -Infinity;
  }

  #pauseMs({ pacems }: PaceTerm): number {
    return pacems ?? this.#defaultMs;
  }
}

/**
 * When the last fetch from each provider with a pace ended: also of those that have nothing queued for the moment. What was
 * fetched before the start ended at the start at the latest.
 */
export class LastEnds {
  readonly #startMs: number;
  /** In the order of their times. */
  readonly #ends = new Map<number, number>();

  /** @param startMs monotonic */
  constructor(startMs: number) {
    this.#startMs = startMs;
  }

  /** Providers that are remembered: those of the longest pause there is. */
  get size(): number {
    return this.#ends.size;
  }

  of(pid: number): number {
    return this.#ends.get(pid) ?? this.#startMs;
  }

  note(pid: number, nowMs: number): void {
    this.#ends.delete(pid);
    this.#ends.set(pid, nowMs);
    for (const [other, endMs] of this.#ends) {
      if (endMs > nowMs - LONGEST_PACE_MS) return;
      this.#ends.delete(other);
    }
  }
}
