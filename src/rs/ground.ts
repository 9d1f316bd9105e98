/** Parts that most of registration has. */
import type { ShownProvider } from '../db/providers/registered.js';
import type { RsDatabase } from '../db/rs/database.js';
import type { Clock } from '../lib/clock.js';
import type { Log } from '../lib/log.js';
import type { RsQuestion } from '../wire/qm-rs.js';

/** Answer of the Queue Manager; undefined: it is away. */
export type QmTold = Readonly<Record<string, unknown>> | undefined;

export interface RsGround {
  db: RsDatabase;
  clock: Clock;
  log: Log;
  /** Asks the Queue Manager. */
  ask: (question: RsQuestion) => Promise<QmTold>;
  /** How a provider stands at the Queue Manager; undefined: that is away, or does not know it. */
  show: (pid: number) => Promise<Partial<ShownProvider> | undefined>;
  /** There is something for the Queue Manager. */
  applied: () => void;
  fail: (error: unknown) => void;
}

/** How a provider stands at the Queue Manager; null: that knows no such number; undefined: it is away. */
export async function shownBy(ask: RsGround['ask'], pid: number): Promise<ShownProvider | null | undefined> {
  const told = await ask({ op: 'show', pid });
  return told && ((told['provider'] ?? null) as ShownProvider | null);
}
