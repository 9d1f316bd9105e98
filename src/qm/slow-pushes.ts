/** Paces the pushes of providers whose pushes are seldom true: each has a number of looks in an hour, at even
 * distances. The times are kept in memory only: after a restart each may have one look more. */
import { setNewest } from '../lib/newest.js';

/** From one look to the next: 60 in an hour. */
const BETWEEN_MS = 60_000;
/** Providers that are remembered. */
const MOST = 100_000;

export class SlowPushes {
  /** When the last one was sent, monotonic. */
  readonly #sentMs = new Map<number, number>();

  /** No further one of the provider is sent before; monotonic. */
  againMs(pid: number): number {
    return (this.#sentMs.get(pid) ?? -Infinity) + BETWEEN_MS;
  }

  sent(pid: number, nowMs: number): void {
    setNewest(this.#sentMs, pid, nowMs, MOST);
  }
}
