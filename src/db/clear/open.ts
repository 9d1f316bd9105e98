/**
 * Opening clear.db. The daemons and the commands of cache clearing all write it, in short transactions; what a commit
 * promises is on disk (`synchronous=FULL`). A damaged database is refused, and not replaced by an empty one: without its
 * rails and path maps nothing would be cleared, and nobody would notice.
 */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeDirectoryDurably, syncDirectory } from '../../lib/durable.js';
import { errnoOf, LccError, messageOf } from '../../lib/errors.js';
import { openForReading } from '../../lib/sqlite-read.js';
import type { Db } from '../../lib/sqlite.js';
import { isLeaving } from '../sqlite/aside.js';
import type { Marked } from '../sqlite/marks.js';
import { START_EMPTY, storageError } from '../sqlite/open.js';
import { hasVanished } from '../sqlite/restored.js';
import { upgrade, versionOf } from '../sqlite/schema-version.js';
import { openWal } from '../sqlite/wal.js';
import { CLEAR_SCHEMA } from './schema.js';

const STEPS: readonly string[] = [CLEAR_SCHEMA];
/** How long a command waits for others that write. */
export const COMMAND_BUSY_MS = 10_000;
/** How long a daemon does, all of whose other work waits meanwhile; it tries again later. */
export const DAEMON_BUSY_MS = 1000;
export const CLEAR_DB: Marked = {
  what: 'request',
  servedBy: 'lccd-hard',
  lastOf: db =>
    Number(db.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'clear_cache_queue'").pluck().get() ?? 0),
};
const WAL_KEEP_BYTES = 64 * 1024 * 1024;
const CACHE_KIB = 16 * 1024;
const REMEDY =
  'stop what uses it and put back a backup, or run lccfsck --repair, which keeps what can be read of it';

/**
 * Opens the database for writing, or makes it, with its folder.
 * @param busyMs how long another process that writes is waited for
 * @throws LccError `config` when a newer LCC wrote it, or one was served that is not there any more, `data.malformed` when it is
 *   damaged, `io`, `io.full`
 */
export function openClearDb(path: string, busyMs: number): Db {
  refuseUnserved(path);
  const isNew = path !== ':memory:' && !existsSync(path);
  if (isNew) makeDirectoryDurably(dirname(path), 0o750);
  try {
    const db = openWal(path, { synchronous: 'FULL', busyMs }, opened => {
      opened.pragma(`journal_size_limit = ${WAL_KEEP_BYTES}`);
      opened.pragma(`cache_size = -${CACHE_KIB}`);
      upgrade(opened, path, STEPS, () => undefined);
      opened.pragma('foreign_keys = ON');
    });
    if (isNew) syncDirectory(dirname(path));
    return db;
  } catch (error) {
    throw clearDbError(path, error);
  }
}

/**
 * Opens it for reading only.
 * @throws LccError `input.missing` when there is none, otherwise as openClearDb
 */
export function openClearDbForReading(path: string): Db {
  requireClearDb(path);
  let db: Db | undefined;
  try {
    db = openForReading(path, COMMAND_BUSY_MS);
    if (versionOf(db, path, STEPS) < STEPS.length)
      throw new LccError('config', `${path}: of an older LCC; lccrail status upgrades it`);
    return db;
  } catch (error) {
    db?.close();
    throw clearDbError(path, error);
  }
}

/** @throws LccError `input.missing` when there is no database */
export function requireClearDb(path: string): void {
  refuseUnserved(path);
  if (!existsSync(path))
    throw new LccError('input.missing', `${path}: there is none yet; lccrail target add makes it`);
}

/** What SQLite reports of this database, as an LccError where that is known. */
export function clearDbError(path: string, error: unknown): unknown {
  if (error instanceof LccError) return error;
  const code = errnoOf(error) ?? '';
  if (code.startsWith('SQLITE_BUSY'))
    return new LccError(
      'try.later',
      `${path}: others write to it for long (${messageOf(error)}); run again`,
      {
        cause: error,
      },
    );
  return storageError(path, error, REMEDY);
}

/** One that was served, and is not there, must not be taken for one that is to be made. */
function refuseUnserved(path: string): void {
  if (isLeaving(path))
    throw new LccError(
      'config',
      `${path}: its replacement was interrupted; lccfsck --repair goes on with that`,
    );
  const vanished = path === ':memory:' ? undefined : hasVanished(path, CLEAR_DB);
  if (vanished !== undefined) throw new LccError('config', `${path}: ${vanished}; ${START_EMPTY}`);
}
