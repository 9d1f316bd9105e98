/**
 * When the last fetch from each provider with a pace ended: also of those that have nothing queued for the moment. What was
 * fetched before the start ended at the start at the latest.
 */

/** No pause is longer (`qm.pace_ms`). */
const LONGEST_PACE_MS = 3_600_000;

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
