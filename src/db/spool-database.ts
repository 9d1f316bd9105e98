/** The small databases below the spool directory, which all UNSes of an LCC share and write. */
import Database from 'better-sqlite3';
import { closeSync, openSync } from 'node:fs';
import { LccError } from '../lib/errors.js';
import { storageError, type Db } from './open.js';

const BUSY_TIMEOUT_MS = 5000;
const SYNCHRONOUS = { NORMAL: 1, FULL: 2 } as const;

/**
 * Opens or makes one.
 * @param synchronous FULL: a commit is on disk; NORMAL: a power cut may lose the last ones, in their order
 * @throws LccError `data.malformed` when it is damaged, `io` or `io.full`
 */
export function openSpoolDatabase(path: string, schema: string, synchronous: keyof typeof SYNCHRONOUS): Db {
  closeSync(openSync(path, 'a', 0o640));
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
    throw storageError(path, error);
  }
}
