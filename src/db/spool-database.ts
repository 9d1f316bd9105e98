/** The small databases below the spool directory, which all UNSes of an LCC share and write. */
import { storageError, type Db } from './open.js';
import { openWal, type WalOptions } from './wal.js';

const BUSY_TIMEOUT_MS = 5000;

/**
 * Opens or makes one.
 * @param synchronous FULL: a commit is on disk; NORMAL: a power cut may lose the last ones, in their order
 * @throws LccError `data.malformed` when it is damaged, `io` or `io.full`
 */
export function openSpoolDatabase(path: string, schema: string, synchronous: WalOptions['synchronous']): Db {
  try {
    return openWal(path, { synchronous, busyMs: BUSY_TIMEOUT_MS }, db => void db.exec(schema));
  } catch (error) {
    throw storageError(path, error, 'its daemon sets it aside');
  }
}
