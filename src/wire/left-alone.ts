/**
 * Providers with a site that asked to be left alone for a while (Retry-After). An answer says so on its way
 * up; each that it passes, robot, Bot Manager, relay, begins nothing more of the provider's lanes and hands
 * back what waits, also what still comes from above, where this is not known yet. What is asked after the
 * `recall` with which the other side answers counts again, and so does what is asked after the time the site
 * wanted.
 */
import { STORE_FULL } from './codes.js';
import type { RobotResult } from './fetch.js';

/** Stops remembered; those that are over go first. */
const MAX_STOPS = 10_000;

/**
 * True if a code gives Retry-After a meaning: 429, and 503 (RFC 9110, 10.2.3). That of a page which is
 * missing, say, is about that page, and would stop all others of its provider. A Bot Manager says so of a
 * store that is full.
 */
export function asksForPatience(code: number): boolean {
  return code === 429 || code === 503 || code === STORE_FULL;
}

/** How long the site of a result wants to be left alone; 0: it does not say. */
export function patienceOf(result: RobotResult): number {
  // A store without room is not the site's affair.
  return result.status === 'error' && result.code !== STORE_FULL ? (result.retryAfterMs ?? 0) : 0;
}

/**
 * The provider of a lane: those of one provider are called `PROVIDER`, `PROVIDER.1`, `PROVIDER.2` and so on.
 */
export function ownerOf(lane: string): string {
  const dot = lane.indexOf('.');
  return dot < 0 ? lane : lane.slice(0, dot);
}

export class Stops {
  /** Monotonic times until which nothing is asked, by owner. */
  readonly #untilMs = new Map<string, number>();

  /** Takes note of a result of the lane. @returns whether its owner's site wants to be left alone */
  heard(lane: string, result: RobotResult, nowMs: number): boolean {
    const patienceMs = patienceOf(result);
    if (patienceMs === 0) return false;
    const owner = ownerOf(lane);
    if (this.#untilMs.size >= MAX_STOPS) this.#sweep(nowMs);
    this.#untilMs.set(owner, Math.max(this.#untilMs.get(owner) ?? 0, nowMs + patienceMs));
    return true;
  }

  /** True if all results of the lane must be handed back. */
  includes(lane: string, nowMs: number): boolean {
    if (this.#untilMs.size === 0) return false;
    const untilMs = this.#untilMs.get(ownerOf(lane));
    return untilMs !== undefined && nowMs < untilMs;
  }

  /** The other side has heard of it. */
  recalled(lane: string): void {
    this.#untilMs.delete(ownerOf(lane));
  }

  clear(): void {
    this.#untilMs.clear();
  }

  #sweep(nowMs: number): void {
    for (const [owner, untilMs] of this.#untilMs) if (untilMs <= nowMs) this.#untilMs.delete(owner);
    const [oldest] = this.#untilMs.keys();
    if (this.#untilMs.size >= MAX_STOPS && oldest !== undefined) this.#untilMs.delete(oldest);
  }
}
