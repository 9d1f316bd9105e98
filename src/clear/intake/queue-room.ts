/**
 * Room in the queue: while it is full nothing is read, so that the writer of standard input waits as well.
 */
import type { ClearDatabase } from '../../db/clear/database.js';

/** How often it is looked for. */
const ROOM_POLL_MS = 200;

/**
 * @param sleep resolves after a time in milliseconds, and keeps the process alive until then
 * @returns what takes room for requests: it resolves when there is room, and says once that there is none
 */
export function queueRoom(
  db: ClearDatabase,
  most: number,
  complain: (message: string) => void,
  sleep: (delayMs: number) => Promise<void>,
): (requests: number) => Promise<void> {
  /** Requests that fit in for certain, when the queue was counted last. */
  let left = 0;
  return async requests => {
    for (let isSaid = false; left <= 0; isSaid = true) {
      left = most - db.read(() => db.queue.count(most));
      if (left > 0) break;
      if (!isSaid)
        complain(
          `the queue holds ${most} requests (clear.max_queued); waiting for lccd-hard to carry some out`,
        );
      await sleep(ROOM_POLL_MS);
    }
    left -= requests;
  };
}
