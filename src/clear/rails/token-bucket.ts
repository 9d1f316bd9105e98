/** Requests a second that a rail takes, with some to spare at once. */
export class TokenBucket {
  readonly #perMs: number;
  readonly #burst: number;
  #tokens: number;
  #atMs: number;

  constructor({ perS, burst }: { perS: number; burst: number }, nowMs: number) {
    this.#perMs = perS / 1000;
    this.#burst = burst;
    this.#tokens = burst;
    this.#atMs = nowMs;
  }

  /** Takes one. @returns 0, or in how many ms there will be one */
  take(nowMs: number): number {
    this.#tokens = Math.min(this.#burst, this.#tokens + (nowMs - this.#atMs) * this.#perMs);
    this.#atMs = nowMs;
    // A sum of fractions that lacks a little of a whole one is no reason to wait.
    if (this.#tokens < 1 - 1e-9) return Math.max(1, (1 - this.#tokens) / this.#perMs);
    this.#tokens -= 1;
    return 0;
  }
}
