/**
 * Robots that were lost and have not come back, for lccstat: a machine without power, or with its link cut,
 * says nothing itself. A robot comes back over another connection: any that comes from its address is taken
 * for it.
 */
import type { Clock } from '../lib/clock.js';

const MOST = 20;
/** A robot that was taken away on purpose is not missed for ever. */
const REMEMBERED_MS = 24 * 3_600_000;

interface Lost {
  address: string;
  /** When, by both clocks. */
  atMs: number;
  monotonicMs: number;
  reason: string;
}

export class MissingRobots {
  readonly #clock: Clock;
  #lost: Lost[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param where its address and port, of a Unix socket the kind alone */
  add(where: string, reason: string): void {
    const times = { atMs: this.#clock.nowMs(), monotonicMs: this.#clock.monotonicMs() };
    this.#lost.push({ address: addressOf(where), ...times, reason });
    if (this.#lost.length > MOST) this.#lost.shift();
  }

  /** A robot has come. */
  came(where: string): void {
    const address = addressOf(where);
    const index = this.#lost.findIndex(lost => lost.address === address);
    if (index >= 0) this.#lost.splice(index, 1);
  }

  /** Why each was lost, and when (Unix time). */
  list(): { reason: string; at_ms: number }[] {
    const nowMs = this.#clock.monotonicMs();
    this.#lost = this.#lost.filter(({ monotonicMs }) => nowMs - monotonicMs < REMEMBERED_MS);
    return this.#lost.map(({ reason, atMs }) => ({ reason, at_ms: atMs }));
  }
}

function addressOf(where: string): string {
  return where.replace(/:\d+$/, '');
}
