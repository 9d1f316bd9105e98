/** Parts that most of registration has. */
import type { RsDatabase } from '../db/rs/database.js';
import type { Clock } from '../lib/clock.js';
import type { Log } from '../lib/log.js';
import type { RsQuestion } from '../wire/qm-rs.js';

/** Answer of the Queue Manager; undefined: it is away. */
type Told = Readonly<Record<string, unknown>> | undefined;

export interface RsGround {
  db: RsDatabase;
  clock: Clock;
  log: Log;
  /** Asks the Queue Manager. */
  ask: (question: RsQuestion) => Promise<Told>;
  /** How a provider stands at the Queue Manager; undefined: that is away, or does not know it. */
  show: (pid: number) => Promise<Told>;
  /** There is something for the Queue Manager. */
  applied: () => void;
  fail: (error: unknown) => void;
}
