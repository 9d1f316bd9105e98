/**
 * Opening rs.db. lccd-rs and lccrs write it, in short transactions; what a commit promises is on disk (`synchronous=FULL`). A damaged
 * database is refused and not replaced by an empty one, which would give numbers out again.
 */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeDirectoryDurably, syncDirectory } from '../../lib/durable.js';
import { errnoOf, LccError, messageOf } from '../../lib/errors.js';
import { openForReading } from '../../lib/sqlite-read.js';
import type { Db } from '../../lib/sqlite.js';
import { storageError } from '../sqlite/open.js';
import { upgrade, versionOf } from '../sqlite/schema-version.js';
import { openWal } from '../sqlite/wal.js';
import { RS_SCHEMA } from './schema.js';

const STEPS: readonly string[] = [RS_SCHEMA];
/** How long another process that writes is waited for. */
const BUSY_MS = 2000;
const WAL_KEEP_BYTES = 16 * 1024 * 1024;
const REMEDY =
  'stop lccd-rs and put back a backup (lccrs backup makes them), then raise rs.first_pid above every number given since';

/**
 * Opens the database for writing, or makes it, with its folder.
 * @throws LccError `config` when a newer LCC wrote it, `data.malformed` when it is damaged, `io`, `io.full`
 */
export function openRsDb(path: string): Db {
  const isNew = path !== ':memory:' && !existsSync(path);
  if (isNew) makeDirectoryDurably(dirname(path), 0o750);
  try {
    const db = openWal(path, { synchronous: 'FULL', busyMs: BUSY_MS }, opened => {
      opened.pragma(`journal_size_limit = ${WAL_KEEP_BYTES}`);
      upgrade(opened, path, STEPS, () => undefined);
    });
    if (isNew) syncDirectory(dirname(path));
    return db;
  } catch (error) {
    throw rsDbError(path, error);
  }
}

/** Opens it for reading only. @throws LccError `input.missing` when there is none, otherwise as openRsDb */
export function openRsDbForReading(path: string): Db {
  if (!existsSync(path))
    throw new LccError('input.missing', `${path}: there is none yet; lccd-rs makes it (rs.listen)`);
  let db: Db | undefined;
  try {
    db = openForReading(path, BUSY_MS);
    if (versionOf(db, path, STEPS) < STEPS.length)
      throw new LccError('config', `${path}: of an older LCC; start lccd-rs to upgrade it`);
    return db;
  } catch (error) {
    db?.close();
    throw rsDbError(path, error);
  }
}

/** What SQLite reports of this database, as an LccError where that is known. */
export function rsDbError(path: string, error: unknown): unknown {
  if (error instanceof LccError) return error;
  if ((errnoOf(error) ?? '').startsWith('SQLITE_BUSY'))
    return new LccError(
      'try.later',
      `${path}: others write to it for long (${messageOf(error)}); run again`,
      {
        cause: error,
      },
    );
  return storageError(path, error, REMEDY);
}
