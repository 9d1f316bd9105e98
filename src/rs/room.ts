/** Room of rs.db for more pairs. Without it there are no new ones; those that are there go on. */
import { dirname } from 'node:path';
import { bytesToKeep, describeRoom, type FreeDisk } from '../config/free-disk.js';
import type { RsDatabase } from '../db/rs/database.js';
import { formatBytes } from '../lib/bytes-text.js';
import { spaceOf } from '../lib/disk-space.js';
import { RsRequestRefused } from './refusal.js';

const RETRY_S = 3600;

export interface RoomRules {
  /** Most bytes of rs.db, without pages that are free again. */
  maxBytes: number;
  /** Free space that its disk must have. */
  minFree: FreeDisk;
}

export class RsRoom {
  readonly #db: Pick<RsDatabase, 'path' | 'usedBytes'>;
  readonly #rules: RoomRules;

  constructor(db: Pick<RsDatabase, 'path' | 'usedBytes'>, rules: RoomRules) {
    this.#db = db;
    this.#rules = rules;
  }

  /** The place that is full, for the operator. */
  get shortage(): string | undefined {
    const { maxBytes, minFree } = this.#rules;
    if (this.#db.usedBytes >= maxBytes)
      return `rs.db is at its limit, ${formatBytes(maxBytes)} (rs.max_db_bytes)`;
    const space = spaceOf(dirname(this.#db.path));
    if (space.freeBytes >= bytesToKeep(minFree, space.totalBytes)) return undefined;
    return `the disk of rs.db has too little room: ${describeRoom(minFree, space)}`;
  }

  /** @param what needs it @throws RsRequestRefused 503 */
  demand(what = 'more registrations'): void {
    if (this.shortage !== undefined)
      throw new RsRequestRefused(
        503,
        'no-room',
        `there is no room for ${what} at the moment`,
        'try again in 1 h',
        RETRY_S,
      );
  }
}
