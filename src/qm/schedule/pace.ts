/**
 * One limit of bytes per second (semantics.md, rule 9). Every fetch moves the time at which the next one is due, by
 * what is expected of it when it is sent, and by the rest when its result is there: fetches under way count. Time lost
 * between two fetches is made good, but never more of it than keeps any 60 s within 5 % of the limit.
 */

/** Of the 3 s that are 5 % of 60 s; what is being fetched, and was expected to be smaller, has the rest. */
const LEEWAY_MS = 2500;
/** How slowly the longest fetch is forgotten. */
const FORGET = 0.99;
/** Expected of a url of which nothing is known. */
const FIRST_BYTES = 16_384;
/** Beside the content there are headers. */
const HEADER_BYTES = 400;
/** Weight of the last fetch in what is expected of the next. */
const WEIGHT = 0.2;

export class Pace {
  /** 0: unlimited. */
  bytesPerS: number;
  /** No fetch begins before (monotonic). */
  dueMs: number;
  readonly #maxWaitMs: number;
  #longestMs = 0;
  #meanBytes = FIRST_BYTES;

  /** @param maxWaitMs nobody waits longer, however large a fetch was */
  constructor(bytesPerS: number, dueMs: number, maxWaitMs: number) {
    this.bytesPerS = bytesPerS;
    this.dueMs = dueMs;
    this.#maxWaitMs = maxWaitMs;
  }

  get isLimited(): boolean {
    return this.bytesPerS > 0;
  }

  /** Bytes to expect of a url that was announced with so many. */
  expected(len: number | null): number {
    return len === null ? this.#meanBytes : len + HEADER_BYTES;
  }

  /** A url is sent. */
  charge(bytes: number, nowMs: number): void {
    if (!this.isLimited) return;
    const leewayMs = this.#longestMs === 0 ? 0 : Math.max(0, LEEWAY_MS - this.#longestMs);
    this.dueMs = Math.max(this.dueMs, nowMs - leewayMs);
    this.#move(bytes, nowMs);
  }

  /** What was charged with `expected` bytes took so many. */
  correct(expected: number, bytes: number, nowMs: number): void {
    if (!this.isLimited) return;
    this.#meanBytes += WEIGHT * (bytes - this.#meanBytes);
    this.#longestMs = Math.max(this.#longestMs * FORGET, this.#msOf(bytes));
    this.#move(bytes - expected, nowMs);
  }

  /** What was charged was never begun. */
  refund(expected: number, nowMs: number): void {
    if (this.isLimited) this.#move(-expected, nowMs);
  }

  #move(bytes: number, nowMs: number): void {
    this.dueMs = Math.min(this.dueMs + this.#msOf(bytes), nowMs + this.#maxWaitMs);
  }

  #msOf(bytes: number): number {
    return (bytes * 1000) / this.bytesPerS;
  }
}
