/** How long a child that died is left before it is started again: doubled each time, within bounds. */
export class RestartDelay {
  readonly #minMs: number;
  readonly #maxMs: number;
  #nextMs: number;

  constructor(minMs: number, maxMs: number) {
    this.#minMs = minMs;
    this.#maxMs = maxMs;
    this.#nextMs = minMs;
  }

  /** @param livedMs one that lived longer than the longest delay begins with the shortest again */
  afterDeath(livedMs: number): number {
    const delayMs = livedMs > this.#maxMs ? this.#minMs : this.#nextMs;
    this.#nextMs = Math.min(this.#maxMs, delayMs * 2);
    return delayMs;
  }
}
