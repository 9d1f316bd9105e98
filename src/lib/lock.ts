/**
 * "Only one at a time", across processes, for as long as the holder lives: a lock dies with its process, however it
 * dies. Node has no flock(2); SQLite takes a POSIX record lock on our behalf, on a file that holds nothing else.
 */
import { errnoOf } from './errors.js';
import { openSqlite, type Db } from './sqlite.js';

export interface Lock {
  release(): void;
}

/**
 * Takes the lock of `path` (created when missing); undefined when another process, or another caller in this one, has
 * it. The file stays behind: removing it would let two holders in.
 */
export function tryLock(path: string): Lock | undefined {
  let db: Db | undefined;
  try {
    const taken = (db = openSqlite(path, { timeout: 0 }));
    // Without a journal SQLite would write its first page to the file: on a full disk there would be no lock.
    taken.pragma('journal_mode = MEMORY');
    taken.pragma('locking_mode = EXCLUSIVE');
    taken.exec('BEGIN EXCLUSIVE');
    return { release: () => void taken.close() };
  } catch (error) {
    db?.close();
    if (errnoOf(error)?.startsWith('SQLITE_BUSY')) return undefined;
    // SQLite does not say which file: a lock may be the first thing that a read-only disk has none of.
    if (error instanceof Error) error.message = `${path}: ${error.message}`;
    throw error;
  }
}
