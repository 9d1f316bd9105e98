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
const KEPT_MS = 1000;

/** Troubles, a line each; none: nothing is wrong. */
export type Health = () => Promise<readonly string[]>;

export function healthOf({ db, door, ask, clock }: HealthOptions): Health {
  let last: { troubles: ReturnType<Health>; untilMs: number } | undefined;
  return () => {
    if (last !== undefined && clock.monotonicMs() < last.untilMs) return last.troubles;
    const begun = { troubles: look(), untilMs: Infinity };
    last = begun;
    const over = () => void (begun.untilMs = clock.monotonicMs() + KEPT_MS);
    begun.troubles.then(over, over);
    return begun.troubles;
  };

  async function look(): Promise<string[]> {
    const [told, isDoorThere] = await Promise.all([ask({ op: 'status' }), door.isThere()]);
    return [
      ...(told === undefined ? ['the Queue Manager is away'] : []),
      ...(isDoorThere ? [] : ['the UNS is away']),
      ...(isDatabaseRead() ? [] : ['rs.db cannot be read']),
    ];
  }

  function isDatabaseRead(): boolean {
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
  const troubles = await health();
  return troubles.length === 0 ? c.text('ok\n') : c.text(`${troubles.join('\n')}\n`, 503);
}
