/** A daemon of which there is one at a time for a database or a folder. */
import { LccError, messageOf } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import { holderOf, tryLock } from '../lib/lock.js';
import type { Running } from './types.js';

/**
 * Starts it with the lock of `path`, which is held until it has stopped, or could not be started.
 * @throws LccError `peer.unavailable` when another process has the lock, and whatever `start` throws
 */
export async function startLocked(
  path: string,
  log: Log,
  start: () => Running | Promise<Running>,
): Promise<Running> {
  const lock = tryLock(path);
  if (lock === undefined)
    throw new LccError('peer.unavailable', `${path}: held by ${holderOf(path)}; stop that one first`);
  try {
    const running = await start();
    const stop = () => running.stop().then(() => lock.release());
    return { ...running, stop };
  } catch (error) {
    log.debug('start failed', { error: messageOf(error) });
    lock.release();
    throw error;
  }
}
