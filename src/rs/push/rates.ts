/** How much may be pushed in a time, counted in memory: what is refused writes nothing. */
import type { Clock } from '../../lib/clock.js';
import { setNewest } from '../../lib/newest.js';

/** Keys that are remembered: beyond, the one that is longest silent is forgotten. */
const MOST_KEYS = 10_000;

interface Window {
  sinceMs: number;
  count: number;
}

export class Rate {
  readonly #most: number;
  readonly #inMs: number;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #windows = new Map<string, Window>();

  constructor(clock: Pick<Clock, 'monotonicMs'>, most: number, inMs: number) {
    this.#clock = clock;
    this.#most = most;
    this.#inMs = inMs;
  }

  /** For how long nothing more may be counted of a key, milliseconds; 0: `n` more may. */
  waitMs(key: string, n = 1): number {
    const window = this.#windows.get(key);
    if (window === undefined) return 0;
    const leftMs = window.sinceMs + this.#inMs - this.#clock.monotonicMs();
    return leftMs <= 0 || window.count + n <= this.#most ? 0 : leftMs;
  }

  count(key: string, n = 1): void {
    const nowMs = this.#clock.monotonicMs();
    const window = this.#windows.get(key);
    const isOver = window === undefined || nowMs >= window.sinceMs + this.#inMs;
    const next = isOver ? { sinceMs: nowMs, count: n } : { ...window, count: window.count + n };
    setNewest(this.#windows, key, next, MOST_KEYS);
  }

  /** Counts one, if it may be. @returns for how long it may not, milliseconds; 0: it is counted */
  take(key: string, n = 1): number {
    const waitMs = this.waitMs(key, n);
    if (waitMs === 0) this.count(key, n);
    return waitMs;
  }
}
