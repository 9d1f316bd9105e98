/** Opening a database for writing, in WAL mode, with what its commits promise made sure of. */
import { backIndex, requireRoom } from '../../lib/disk-room.js';
import { errnoOf, LccError } from '../../lib/errors.js';
import { makeFile } from '../../lib/owner.js';
import { sleepSync } from '../../lib/sleep-sync.js';
import { openSqlite, type Db } from '../../lib/sqlite.js';

const SYNCHRONOUS = { NORMAL: 1, FULL: 2 } as const;
const RETRY_MS = 20;

export interface WalOptions {
  /** FULL: a commit is on disk; NORMAL: a power cut may lose the last ones, in their order. */
  synchronous: keyof typeof SYNCHRONOUS;
  /** How long another process is waited for, now and whenever it holds the lock. */
  busyMs: number;
}

/**
 * Opens the database, creating it readable by its owner and group only.
 * @param prepare makes it ready; may be run more than once
 * @throws what SQLite and the file system throw; LccError `io.full` when the disk has no room, `bug`
 */
export function openWal(path: string, options: WalOptions, prepare: (db: Db) => void): Db {
  const isFile = path !== ':memory:';
  if (isFile) {
    requireRoom(path);
    makeFile(path, 0o640);
  }
  for (let waitedMs = 0; ; waitedMs += RETRY_MS) {
    try {
      const db = openOnce(path, options, prepare);
      if (isFile) backIndex(path);
      return db;
    } catch (error) {
      // Entering WAL beside another process that does so, or leaves it, fails at once: SQLite's own wait is
      // not for that.
      if (errnoOf(error)?.startsWith('SQLITE_BUSY') !== true || waitedMs >= options.busyMs) throw error;
      sleepSync(RETRY_MS);
    }
  }
}

function openOnce(path: string, { synchronous, busyMs }: WalOptions, prepare: (db: Db) => void): Db {
  const db = openSqlite(path, { timeout: busyMs });
  try {
    db.pragma('journal_mode = WAL');
    // Entering WAL sets NORMAL, whatever was asked for before.
    // safeguard: synchronous=FULL
    // safeguard: the assertion that SQLite took it
    db.pragma(`synchronous = ${synchronous}`);
    if (db.pragma('synchronous', { simple: true }) !== SYNCHRONOUS[synchronous])
      throw new LccError('bug', `${path}: SQLite refuses synchronous=${synchronous}`);
    prepare(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}
