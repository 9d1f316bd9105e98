/** Guessing passwords takes time: after a few failures for one account from one address, its attempts (right
 * ones, too, or an attacker would see the difference) are answered one after the other, ever more slowly. */
import { doubledMs } from './backoff.js';
import type { Clock } from './clock.js';
import { setNewest } from './newest.js';

const FREE_FAILURES = 3;
const DELAY = { minMs: 100, maxMs: 5000 };
const FORGOTTEN_AFTER_MS = 10 * 60 * 1000;
/** Pairs of account and address remembered; beyond, the oldest is forgotten. */
const MAX_REMEMBERED = 10_000;

interface Suspect {
  failures: number;
  /** When the next attempt may be answered. */
  nextMs: number;
}

export class LoginBackoff {
  readonly #clock: Clock;
  readonly #suspects = new Map<string, Suspect>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How long the attempt that begins now must wait before it is looked at; it takes its turn in the line. */
  delayMs(account: string, address: string): number {
    const suspect = this.#suspects.get(keyOf(account, address));
    if (suspect === undefined) return 0;
    const nowMs = this.#clock.monotonicMs();
    const startMs = Math.max(nowMs, suspect.nextMs);
    suspect.nextMs = startMs + intervalMs(suspect.failures);
    return startMs - nowMs;
  }

  failed(account: string, address: string): void {
    const key = keyOf(account, address);
    const nowMs = this.#clock.monotonicMs();
    const known = this.#suspects.get(key);
    const fresh = known === undefined || nowMs - known.nextMs > FORGOTTEN_AFTER_MS;
    const failures = fresh ? 1 : known.failures + 1;
    const nextMs = Math.max(known?.nextMs ?? 0, nowMs + intervalMs(failures));
    setNewest(this.#suspects, key, { failures, nextMs }, MAX_REMEMBERED);
  }

  succeeded(account: string, address: string): void {
    this.#suspects.delete(keyOf(account, address));
  }
}

function intervalMs(failures: number): number {
  if (failures <= FREE_FAILURES) return 0;
  return doubledMs(DELAY, failures - FREE_FAILURES);
}

function keyOf(account: string, address: string): string {
  return `${address} ${account.slice(0, 64)}`;
}
