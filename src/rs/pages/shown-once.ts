/** Secrets between the answer that makes them and the one page that shows them: in memory, for a short time,
 * once. */
import type { Clock } from '../../lib/clock.js';

const KEPT_MS = 10 * 60_000;
/** Beyond, the oldest is forgotten. */
const MOST = 1000;

export class ShownOnce<Secrets extends object> {
  readonly #clock: Clock;
  readonly #kept = new Map<string, { secrets: Secrets; untilMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  keep(key: string, secrets: Secrets): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [oldest, { untilMs }] of this.#kept) {
      if (untilMs > nowMs && this.#kept.size < MOST) break;
      this.#kept.delete(oldest);
    }
    this.#kept.set(key, { secrets, untilMs: nowMs + KEPT_MS });
  }

  /** The secrets of a key, for the last time. */
  take(key: string): Secrets | undefined {
    const found = this.#kept.get(key);
    this.#kept.delete(key);
    return found === undefined || found.untilMs <= this.#clock.monotonicMs() ? undefined : found.secrets;
  }
}
