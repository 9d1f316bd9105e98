/** How fast an answer comes. One that brings less than it should for a while is slow; one that does so for
 * the whole window is given up. What has come in time begins a new window. */
export interface SpeedLimits {
  /** Bytes a second; 0: whatever there is. */
  minRateBytesPerS: number;
  /** How long less may come before the answer is given up. */
  minRateWindowMs: number;
  /** How long less may come before it is slow. */
  slowAfterMs: number;
}

export type SpeedState = 'fine' | 'slow' | 'too-slow';

export class Speed {
  readonly #limits: SpeedLimits;
  #sinceMs: number;
  #bytes: number;

  /** @param bytes received so far, over the whole fetch */
  constructor(limits: SpeedLimits, nowMs: number, bytes: number) {
    this.#limits = limits;
    this.#sinceMs = nowMs;
    this.#bytes = bytes;
  }

  /** A new window: what was waited for was not the site. */
  restart(nowMs: number, bytes: number): void {
    this.#sinceMs = nowMs;
    this.#bytes = bytes;
  }

  look(nowMs: number, fetch: { readonly wireBytes: number }): SpeedState {
    const { minRateBytesPerS, minRateWindowMs, slowAfterMs } = this.#limits;
    const waitedMs = nowMs - this.#sinceMs;
    if (minRateBytesPerS === 0 || waitedMs < Math.min(slowAfterMs, minRateWindowMs)) return 'fine';
    const received = fetch.wireBytes;
    if ((received - this.#bytes) * 1000 >= minRateBytesPerS * waitedMs) {
      this.restart(nowMs, received);
      return 'fine';
    }
    if (waitedMs >= minRateWindowMs) return 'too-slow';
    return waitedMs >= slowAfterMs ? 'slow' : 'fine';
  }
}
