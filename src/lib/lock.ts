/**
 * "Only one at a time", across processes, for as long as the holder lives: a lock dies with its process, however it
 * dies. Node has no flock(2); SQLite takes a POSIX record lock on our behalf, on a file that holds nothing else.
 */
import { errnoOf } from './errors.js';
import { openSqlite } from './sqlite.js';

export interface Lock {
  release(): void;
}

/**
 * Takes the lock of `path` (created when missing); undefined when another process, or another caller in this one, has
 * it. The file stays behind: removing it would let two holders in.
 */
export function tryLock(path: string): Lock | undefined {
  const db = openSqlite(path, { timeout: 0 });
  try {
    // Without a journal SQLite would write its first page to the file: on a full disk there would be no lock.
    db.pragma('journal_mode = MEMORY');
    db.pragma('locking_mode = EXCLUSIVE');
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    if (errnoOf(error)?.startsWith('SQLITE_BUSY')) return undefined;
    throw error;
  }
  return { release: () => void db.close() };
}
