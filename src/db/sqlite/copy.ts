/** Copies of databases that others write meanwhile. */
import { chmodSync, closeSync, fsyncSync, openSync, statSync } from 'node:fs';
import { giveTo } from '../../lib/owner.js';
import { openForReading } from '../../lib/sqlite-read.js';
import { storageError } from './open.js';

const BUSY_MS = 10_000;
/** Pages that SQLite copies at a time: all of them. In smaller steps it would begin again with each commit.
 * */
const ALL_PAGES = 0x7fff_ffff;

/**
 * Makes a copy of a database as it is at one moment, with SQLite's own backup: writers go on meanwhile. It is
 * on disk when this resolves, as readable to others as the original is.
 * @throws LccError as storageError, system errors
 */
export async function copyDatabase(from: string, to: string): Promise<void> {
  try {
    const db = openForReading(from, BUSY_MS);
    try {
      await db.backup(to, { progress: () => ALL_PAGES });
    } finally {
      db.close();
    }
  } catch (error) {
    throw storageError(from, error);
  }
  const stats = statSync(from);
  chmodSync(to, stats.mode & 0o777);
  giveTo(to, stats);
  const fd = openSync(to, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
