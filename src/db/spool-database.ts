/** The small databases below the spool directory, which all UNSes of an LCC share and write. */
import Database from 'better-sqlite3';
import { closeSync, openSync } from 'node:fs';
import { LccError } from '../lib/errors.js';
import { storageError, type Db } from './open.js';

const BUSY_TIMEOUT_MS = 5000;
const RETRY_MS = 20;
const SYNCHRONOUS = { NORMAL: 1, FULL: 2 } as const;

/**
 * Opens or makes one.
 * @param synchronous FULL: a commit is on disk; NORMAL: a power cut may lose the last ones, in their order
 * @throws LccError `data.malformed` when it is damaged, `io` or `io.full`
 */
export function openSpoolDatabase(path: string, schema: string, synchronous: keyof typeof SYNCHRONOUS): Db {
  closeSync(openSync(path, 'a', 0o640));
  for (let waitedMs = 0; ; waitedMs += RETRY_MS) {
    try {
      return open(path, schema, synchronous);
    } catch (error) {
      // Entering WAL beside another process that does so, or leaves it, fails at once: SQLite's own wait is not for that.
      if (!isBusy(error) || waitedMs >= BUSY_TIMEOUT_MS)
        throw storageError(path, error, 'its daemon sets it aside');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
}

function open(path: string, schema: string, synchronous: keyof typeof SYNCHRONOUS): Db {
  const db = new Database(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    db.pragma('journal_mode = WAL');
    // Entering WAL sets NORMAL, whatever was asked for before.
    db.pragma(`synchronous = ${synchronous}`);
    if (db.pragma('synchronous', { simple: true }) !== SYNCHRONOUS[synchronous])
      throw new LccError('bug', `${path}: SQLite refuses synchronous=${synchronous}`);
    db.exec(schema);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY');
}
