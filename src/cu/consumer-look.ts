/** Tells if the consumer of a cursor has taken everything. */
import { CacheReader } from '../db/cache/read.js';
import { readCursor, startOf } from './cursor.js';

/**
 * @returns what looks: the last change, where the cursor is at it; undefined where it is behind, or not there
 *   yet. It throws LccErrors as readCursor and startOf
 */
export function consumerLook(dbPath: string, file: string): () => number | undefined {
  let reader: CacheReader | undefined;
  return () => {
    // The cursor first: a change that comes between the two is not taken.
    const cursor = readCursor(file);
    if (cursor === undefined) return undefined;
    reader ??= new CacheReader(dbPath, '');
    reader.renew();
    const { highWater } = reader;
    const seq = startOf(file, cursor, reader);
    reader.rest();
    return seq === highWater ? highWater : undefined;
  };
}
