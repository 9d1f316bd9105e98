/** Which equal requests are done together (`clear.dedupe`). */
import type { ClearDatabase } from '../../db/clear/database.js';
import type { RequestRow } from '../../db/clear/queue.js';

/** All up to `mark`, the number of the last; forced if one of them is. */
export interface Together {
  mark: number;
  isForced: boolean;
}

/**
 * Those that are there before anything is sent: a rail may cache a page again after it was cleared.
 * @param isPaper all that are there at the end, as the paper has it
 */
export function doneTogether(db: ClearDatabase, row: RequestRow, isPaper: boolean): Together {
  const { mark, force } = db.queue.covered(row) ?? { mark: row.id, force: row.force === 1 };
  return { mark: isPaper ? Infinity : mark, isForced: force };
}
