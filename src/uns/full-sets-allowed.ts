/**
 * Rations of full sets (semantics.md, rule 6), as of now: what the Queue Manager has counted, and the full
 * sets that wait for it in the spools as if they were absorbed. Looked at when a full set begins, to spare
 * its CP the sending, and again when it is about to be accepted: another session may have had the last one.
 */
import { fullSetRation, type FullSetRation, type Provider } from '../db/providers/pidb.js';
import type { PidbReader } from '../db/providers/pidb-reader.js';
import type { Clock } from '../lib/clock.js';
import { KeyedLock } from '../lib/keyed-lock.js';
import type { SpoolIntake } from './spool-intake.js';
import type { UnsOptions } from './options.js';
import { rationed } from './truthfulness.js';
import { Refusal } from '../wire/refusal.js';

const DAY_MS = 86_400_000;

export class Rations {
  readonly #options: UnsOptions;
  readonly #pidb: PidbReader;
  readonly #intake: SpoolIntake;
  readonly #clock: Clock;
  /** By provider. */
  readonly #accepting = new KeyedLock<number>();

  constructor(options: UnsOptions, parts: { pidb: PidbReader; intake: SpoolIntake; clock: Clock }) {
    this.#options = options;
    this.#pidb = parts.pidb;
    this.#intake = parts.intake;
    this.#clock = parts.clock;
  }

  /** The ration that a provider, as it was read just now, has left when `fullSets` of it wait. */
  of(provider: Provider, fullSets: number): FullSetRation {
    const nowMs = this.#clock.nowMs();
    const known = this.#pidb.truth(provider.pid, Math.floor(nowMs / 1000));
    return fullSetRation(rationed(provider, known), fullSets, nowMs, this.#options.fullSetPeriodMs);
  }

  /** @throws Refusal 201 when the provider may not send a full set now */
  demand(admitted: Provider): void {
    const provider = this.#pidb.provider(admitted.pid) ?? admitted;
    const { allowed, wanted } = this.of(provider, this.#intake.waiting(provider.pid).fullSets);
    if (allowed > 0 || wanted !== undefined) return;
    const days = Math.round(this.#options.fullSetPeriodMs / DAY_MS);
    throw new Refusal(
      201,
      `no full sets left: ${provider.fullsetsallowed} may be sent in ${days} days; send changes only`,
    );
  }

  /** Accepts a full set, one of a provider at a time. @throws Refusal 201; what `commit` throws */
  async accept<T>(provider: Provider, commit: () => Promise<T>): Promise<T> {
    const release = await this.#accepting.take(provider.pid);
    try {
      this.demand(provider);
      return await commit();
    } finally {
      release();
    }
  }
}
