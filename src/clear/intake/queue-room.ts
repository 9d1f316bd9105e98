/**
 * Room in the queue: while it is full nothing is read, so that the writer of standard input waits as well.
 */
import type { ClearDatabase } from '../../db/clear/database.js';

/** How often it is looked for. */
const ROOM_POLL_MS = 200;

interface RoomTalk {
  complain: (message: string) => void;
  /** Resolves after a time in milliseconds, and keeps the process alive until then. */
  sleep: (delayMs: number) => Promise<void>;
}

export class QueueRoom {
  readonly #db: ClearDatabase;
  readonly #most: number;
  readonly #talk: RoomTalk;
  /** Requests that fit in for certain, when the queue was counted last. */
  #left = 0;

  constructor(db: ClearDatabase, most: number, talk: RoomTalk) {
    this.#db = db;
    this.#most = most;
    this.#talk = talk;
  }

  /** Resolves when there is room; says once that there is none. */
  async takeFor(requests: number): Promise<void> {
    for (let isSaid = false; this.#left <= 0; isSaid = true) {
      this.#left = this.#most - this.#db.read(() => this.#db.queue.count(this.#most));
      if (this.#left > 0) break;
      if (!isSaid)
        this.#talk.complain(
          `the queue holds ${this.#most} requests (clear.max_queued); waiting for lccd-hard to carry some out`,
        );
      await this.#talk.sleep(ROOM_POLL_MS);
    }
    this.#left -= requests;
  }
}
