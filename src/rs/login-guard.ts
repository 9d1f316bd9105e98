/** How many wrong passwords come from one network in an hour, over all accounts. */
import type { Clock } from '../lib/clock.js';
import { RsRequestRefused, tooOften } from './refusal.js';

const HOUR_MS = 3_600_000;
/** Networks remembered; beyond, the one that is longest silent is forgotten. */
const MAX_NETWORKS = 10_000;

export class LoginGuard {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #most: number;
  readonly #text: string;
  /** When those of the last hour were made, and those under way. */
  readonly #wrong = new Map<string, number[]>();

  constructor(clock: Pick<Clock, 'monotonicMs'>, { most, text }: { most: number; text: string }) {
    this.#clock = clock;
    this.#most = most;
    this.#text = text;
  }

  /**
   * Has a password checked. One that is being checked counts as wrong, so that many at a time are not more than one after the other.
   * @throws RsRequestRefused 429 after too many wrong ones, whatever the password is; what `check` throws
   */
  async attempt<T>(network: string, check: () => Promise<T>): Promise<T> {
    const nowMs = this.#clock.monotonicMs();
    const times = (this.#wrong.get(network) ?? []).filter(ms => ms > nowMs - HOUR_MS);
    if (times.length >= this.#most)
      throw tooOften(
        'too-many',
        `too many wrong logins from your network in an hour: the limit is ${this.#text}`,
        (times[0] ?? nowMs) + HOUR_MS - nowMs,
      );
    this.#remember(network, [...times, nowMs]);
    try {
      const result = await check();
      this.#forget(network, nowMs);
      return result;
    } catch (error) {
      // Only a wrong password is one.
      if (!(error instanceof RsRequestRefused) || error.status !== 401) this.#forget(network, nowMs);
      throw error;
    }
  }

  #remember(network: string, times: number[]): void {
    this.#wrong.delete(network);
    this.#wrong.set(network, times);
    if (this.#wrong.size <= MAX_NETWORKS) return;
    const [oldest] = this.#wrong.keys();
    if (oldest !== undefined) this.#wrong.delete(oldest);
  }

  #forget(network: string, atMs: number): void {
    const times = this.#wrong.get(network) ?? [];
    const i = times.indexOf(atMs);
    const rest = i < 0 ? times : times.toSpliced(i, 1);
    if (rest.length === 0) this.#wrong.delete(network);
    else this.#wrong.set(network, rest);
  }
}
