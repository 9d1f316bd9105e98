/** A cursor that begins with the next change: what is there already is nobody's news (`lccq --from-now`). */
import { CacheReader } from '../db/cache/read.js';
import { LccError } from '../lib/errors.js';
import { advanceCursor, lockCursor, readCursor, type CursorPlace, type FileCursor } from './cursor.js';

/**
 * Makes the cursor, durably.
 * @returns it
 * @throws LccError `usage` where there is one; as lockCursor and CacheReader
 */
export function beginCursor(dbPath: string, { file, of }: CursorPlace): FileCursor {
  const reader = new CacheReader(dbPath, '');
  try {
    const lock = lockCursor(file);
    try {
      const there = readCursor(file);
      if (there !== undefined)
        throw new LccError(
          'usage',
          `${file}: is a cursor already, at change ${there.seq}; leave out --from-now to go on from there, or remove it`,
        );
      reader.renew();
      const cursor = { storeId: reader.storeId, seq: reader.highWater, ...(of === undefined ? {} : { of }) };
      advanceCursor(file, cursor);
      return cursor;
    } finally {
      lock.release();
    }
  } finally {
    reader.close();
  }
}
