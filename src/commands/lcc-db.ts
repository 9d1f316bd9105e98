/** lcc.db, for commands that look at it. */
import { openReadOnly, readingError, type Db } from '../db/sqlite/open.js';

/** Reads it, and closes it. @throws LccError as `openReadOnly`, but `io` of damage */
export function readLcc<T>(path: string, read: (db: Db) => T): T {
  let db: Db | undefined;
  try {
    db = openReadOnly(path);
    return read(db);
  } catch (error) {
    throw readingError(path, error);
  } finally {
    db?.close();
  }
}
