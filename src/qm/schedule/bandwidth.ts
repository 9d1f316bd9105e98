/**
 * One limit of bytes per second (semantics.md, rule 9). Each fetch moves the time at which the next one is
 * due: by what is expected of it while it is under way, by what came when its result is there. The two are
 * apart, so that an expectation ends with its fetch and is never written down. Time lost between two fetches
 * is made good, but never more of it than keeps any 60 s within 5 % of the limit.
 */

/** Leeway, of the 3 s that are 5 % of 60 s; a fetch that was expected to be smaller has the rest. */
const LEEWAY_MS = 2500;
/** How slowly the longest fetch is forgotten. */
const FORGET = 0.99;
/** Expected of a url of which nothing is known. */
const FIRST_BYTES = 16_384;
/** Beside the content there are headers. */
const HEADER_BYTES = 400;
/** Weight of the last fetch in what is expected of the next. */
const WEIGHT = 0.2;

/** Bytes that are expected of a url on its way: to its provider's limit, and to that of the LCC. */
export interface Charge {
  own: number;
  whole: number;
}

export const NO_CHARGE: Charge = { own: 0, whole: 0 };

export class Meter {
  #bytesPerS: number;
  /** When what has come is paid for (monotonic). */
  #paidMs: number;
  /** Expected of what is under way. */
  #expectedBytes = 0;
  readonly #maxWaitMs: number;
  #longestMs = 0;
  #meanBytes = FIRST_BYTES;

  /**
   * @param bytesPerS 0 = unlimited
   * @param paidMs of what came before the start
   * @param maxWaitMs no fetch makes anybody wait longer, however large it was
   */
  constructor(bytesPerS: number, paidMs: number, maxWaitMs: number) {
    this.#bytesPerS = bytesPerS;
    this.#paidMs = bytesPerS > 0 ? paidMs : 0;
    this.#maxWaitMs = maxWaitMs;
  }

  get isLimited(): boolean {
    return this.#bytesPerS > 0;
  }

  /** No fetch begins before (monotonic); -Infinity without a limit. */
  get dueMs(): number {
    return this.isLimited ? this.#paidMs + this.#underWayMs() : -Infinity;
  }

  /** The same if what is under way ended now, as if it had been received at the limit: what a restart goes on
   * from. */
  settledMs(nowMs: number): number {
    // safeguard: leaving what is expected out of what is written
    return Math.max(this.#paidMs, Math.min(this.dueMs, nowMs));
  }

  /** Another limit: what is still to be paid is as many bytes as before. @param bytesPerS 0 = unlimited */
  limit(bytesPerS: number, nowMs: number): void {
    if (bytesPerS === this.#bytesPerS) return;
    const owedMs = Math.max(0, this.#paidMs - nowMs);
    if (owedMs > 0 && bytesPerS > 0 && this.isLimited)
      this.#paidMs = Math.min(nowMs + (owedMs * this.#bytesPerS) / bytesPerS, nowMs + this.#maxWaitMs);
    else if (bytesPerS === 0) this.#paidMs = 0;
    this.#bytesPerS = bytesPerS;
  }

  /** Bytes to expect of a url. @param len of its content, null = unknown */
  expected(len: number | null): number {
    return len === null ? this.#meanBytes : len + HEADER_BYTES;
  }

  /** A url is sent. */
  charge(bytes: number, nowMs: number): void {
    const leewayMs = this.#longestMs === 0 ? 0 : Math.max(0, LEEWAY_MS - this.#longestMs);
    if (this.isLimited) this.#paidMs = Math.max(this.#paidMs, nowMs - leewayMs - this.#underWayMs());
    this.#expectedBytes += bytes;
  }

  /** A fetch charged with `expected` bytes took `bytes`. */
  received(expected: number, bytes: number, nowMs: number): void {
    this.refund(expected);
    if (!this.isLimited) return;
    this.#meanBytes += WEIGHT * (bytes - this.#meanBytes);
    this.#longestMs = Math.max(this.#longestMs * FORGET, this.#msOf(bytes));
    this.#paidMs = Math.min(this.#paidMs + this.#msOf(bytes), nowMs + this.#maxWaitMs);
  }

  /** A charged fetch was never begun. */
  refund(expected: number): void {
    this.#expectedBytes = Math.max(0, this.#expectedBytes - expected);
  }

  /** Nobody knows how much came of what was charged: no more than the limit lets through in the time that it
   * had. */
  lost(expected: number, sentMs: number, nowMs: number): void {
    this.refund(expected);
    if (this.isLimited) this.#paidMs += Math.min(this.#msOf(expected), nowMs - sentMs);
  }

  /** Cancels all debt. */
  forgive(): void {
    this.#paidMs = 0;
  }

  /** As long as what is expected takes to pay for. */
  #underWayMs(): number {
    return Math.min(this.#msOf(this.#expectedBytes), this.#maxWaitMs);
  }

  #msOf(bytes: number): number {
    return this.isLimited ? (bytes * 1000) / this.#bytesPerS : 0;
  }
}
