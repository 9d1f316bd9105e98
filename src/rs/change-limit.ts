/** How often a provider changes something of itself: each change is rows of rs.db, and most are an operation of the Queue Manager. */
import type { RsDatabase } from '../db/rs/database.js';
import { tooOften } from './refusal.js';

const HOUR_MS = 3_600_000;

export class ChangeLimit {
  readonly #db: RsDatabase;
  readonly #limit: { most: number; text: string };
  readonly #nowMs: () => number;

  /** @param limit in an hour */
  constructor(db: RsDatabase, limit: { most: number; text: string }, nowMs: () => number) {
    this.#db = db;
    this.#limit = limit;
    this.#nowMs = nowMs;
  }

  /** Inside the transaction that makes the change. @throws RsRequestRefused 429 */
  demand(pid: number): void {
    const { most, text } = this.#limit;
    const nowMs = this.#nowMs();
    const made = this.#db.audit.changesOf(pid, nowMs - HOUR_MS, nowMs, most);
    if (made.length < most) return;
    const first = made.at(-1) ?? nowMs;
    throw tooOften('too-often', `too many changes in an hour: the limit is ${text}`, first + HOUR_MS - nowMs);
  }
}
