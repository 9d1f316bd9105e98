/**
 * Health of lccd-rs, for `/healthz`. The Queue Manager and the UNS have to answer at
 * their sockets, and rs.db has to be read. However many ask, there is one look at a time, and its answer
 * holds for a moment.
 */
import type { Context } from 'hono';
import type { RsDatabase } from '../db/rs/database.js';
import type { Clock } from '../lib/clock.js';
import { LccError } from '../lib/errors.js';
import type { RsQuestion } from '../wire/qm-rs.js';
import type { UnsDoor } from './uns-door.js';

export interface HealthOptions {
  db: Pick<RsDatabase, 'read'> & { outbox: Pick<RsDatabase['outbox'], 'count'> };
  door: Pick<UnsDoor, 'isThere'>;
  /** Undefined: the Queue Manager is away. */
  ask: (question: RsQuestion) => Promise<unknown>;
  clock: Pick<Clock, 'monotonicMs'>;
}

/** Time for which the answer of a look holds. */
export const HEALTH_KEPT_MS = 1000;

export class Health {
  readonly #options: HealthOptions;
  #last: { troubles: Promise<readonly string[]>; untilMs: number } | undefined;

  constructor(options: HealthOptions) {
    this.#options = options;
  }

  /** Troubles, a line each; none: nothing is wrong. */
  troubles(): Promise<readonly string[]> {
    const { clock } = this.#options;
    if (this.#last !== undefined && clock.monotonicMs() < this.#last.untilMs) return this.#last.troubles;
    const last = { troubles: this.#look(), untilMs: Infinity };
    this.#last = last;
    const over = () => void (last.untilMs = clock.monotonicMs() + HEALTH_KEPT_MS);
    last.troubles.then(over, over);
    return last.troubles;
  }

  async #look(): Promise<string[]> {
    const { ask, door } = this.#options;
    const [told, isDoorThere] = await Promise.all([ask({ op: 'status' }), door.isThere()]);
    return [
      ...(told === undefined ? ['the Queue Manager is away'] : []),
      ...(isDoorThere ? [] : ['the UNS is away']),
      ...(this.#isDatabaseRead() ? [] : ['rs.db cannot be read']),
    ];
  }

  #isDatabaseRead(): boolean {
    const { db } = this.#options;
    try {
      return db.read(() => db.outbox.count()) >= 0;
    } catch (error) {
      if (!(error instanceof LccError)) throw error;
      return false;
    }
  }
}

/** 200, or 503 with what is wrong. */
export async function healthz(c: Context, health: Health): Promise<Response> {
  const troubles = await health.troubles();
  return troubles.length === 0 ? c.text('ok\n') : c.text(`${troubles.join('\n')}\n`, 503);
}
