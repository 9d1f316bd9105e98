/** A robot that has not answered a request for `bm.attempt_timeout_ms`, counted from its turn, hangs: it is
 * cut off. */
import { limitText } from '../config/settings/index.js';
import { LccError } from '../lib/errors.js';
import type { Distributor } from './distribute.js';
import type { FetchTask, RobotWorker } from './robot-worker.js';

export function cutHungRobots(
  robots: Iterable<RobotWorker>,
  distributor: Distributor<FetchTask>,
  { nowMs, attemptTimeoutMs }: { nowMs: number; attemptTimeoutMs: number },
): void {
  for (const worker of robots) {
    const late = distributor.turnOf(worker, task => task.startedMs <= nowMs - attemptTimeoutMs);
    if (late === undefined) continue;
    const limit = limitText('bm.attempt_timeout_ms', attemptTimeoutMs);
    worker.cut(new LccError('limit', `${worker.where}: no answer within ${limit} for ${late.request.url}`));
  }
}
