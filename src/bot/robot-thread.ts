/** A robot as a thread of its Bot Manager: what the thread and its owner (robots.ts) say to each other. */
import type { Settings } from '../config/settings/index.js';
import { systemClock } from '../lib/clock.js';
import type { Level, LogFields } from '../lib/log.js';
import { talkInThread } from '../lib/thread.js';
import type { FromRobot, ToRobot, Turn } from '../wire/near-robot.js';
import type { BotStatus } from './figures.js';
import { robotOf } from './start.js';

export interface RobotStart {
  settings: Settings;
  /** Networks (CIDR) that may be fetched from, beside those configured. */
  allowed: readonly string[];
  before: BotStatus;
}

/** `end`: it gives up what it fetches, and ends. */
export type RobotTold = Turn<ToRobot> | { end: true };

export interface RobotSaid {
  /** As it is now. */
  status?: BotStatus;
  said?: Turn<FromRobot>;
  log?: [level: Level, event: string, fields?: LogFields];
}

/** How often it says how it is, whatever else it says: it does not hang. */
const BEAT_MS = 1000;

/** Serves the thread's owner until that ends it. */
export function serveRobot(): void {
  talkInThread(({ settings, allowed, before }: RobotStart, say: (said: RobotSaid) => void) => {
    const at = (level: Level) => (event: string, fields?: LogFields) =>
      say({ log: fields === undefined ? [level, event] : [level, event, fields] });
    const log = { error: at('error'), warn: at('warn'), info: at('info'), debug: at('debug') };
    const robot = robotOf(settings, { allowed, clock: systemClock, log, before });
    const manager = robot.serveNear(said => say({ said, status: robot.status() }));
    const beat = (): void => {
      say({ status: robot.status() });
      systemClock.after(BEAT_MS, beat);
    };
    beat();
    return (told: RobotTold) => {
      if (typeof told === 'string' || !('end' in told)) return manager.hear(told);
      manager.close();
      // The thread ends; the process goes on.
      void robot.stop().then(() => process.exit());
    };
  });
}
