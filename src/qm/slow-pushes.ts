/** Paces the pushes of providers whose pushes are seldom true: each has a number of looks in an hour, at even
 * distances. The times are kept in memory only: after a restart each may have one look more. */
import { setNewest } from '../lib/newest.js';

const HOUR_MS = 3_600_000;
const PER_HOUR = 60;
/** Providers that are remembered. */
const MOST = 100_000;

export class SlowPushes {
  readonly #betweenMs: number;
  /** When the last one was sent, monotonic. */
  readonly #sentMs = new Map<number, number>();

  constructor(perHour = PER_HOUR) {
    this.#betweenMs = Math.ceil(HOUR_MS / perHour);
  }

  /** No further one of the provider is sent before; monotonic. */
  againMs(pid: number): number {
    return (this.#sentMs.get(pid) ?? -Infinity) + this.#betweenMs;
  }

  sent(pid: number, nowMs: number): void {
    setNewest(this.#sentMs, pid, nowMs, MOST);
  }
}
