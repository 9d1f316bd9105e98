/**
 * Opening lcc.db. The Queue Manager (and lccpidb, administratively) writes it; everyone else opens it
 * read-only.
 *
 * better-sqlite3 is compiled so that a WAL database is opened with synchronous=NORMAL, which loses whole
 * transactions in a power cut: FULL is set on every writing connection, after WAL was entered, and read back.
 */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { errnoOf, LccError, messageOf } from '../../lib/errors.js';
import { openForReading } from '../../lib/sqlite-read.js';
import { hindranceOf, type Db } from '../../lib/sqlite.js';
import { moveLogins } from '../providers/site-logins.js';
import { defineFolder } from '../queue/folders.js';
import { isLeaving } from './aside.js';
import { LATER_STEPS } from './later-schema.js';
import { hasVanished } from './restored.js';
import { LCC_SCHEMA } from './schema.js';
import { upgrade, versionOf } from './schema-version.js';
import { openWal } from './wal.js';

export type { Db, Statement } from '../../lib/sqlite.js';

/** Steps that make lcc.db, and bring one of an older release to this program's schema: 1 is that of 0.1.0. A
 * released one is never edited. */
export const STEPS: readonly string[] = [LCC_SCHEMA, ...LATER_STEPS];
/** The schema this program reads and writes. */
export const SCHEMA_VERSION = STEPS.length;

/** True if a database of that version cannot have the table, for a later one made it. */
export function isLaterTable(table: string, version: number): boolean {
  return version > 0 && STEPS.slice(version).some(sql => sql.includes(`CREATE TABLE ${table}(`));
}

/** How long a connection waits for another's write lock. */
const BUSY_TIMEOUT_MS = 10_000;
/**
 * WAL pages before a checkpoint: 16 MB. Fewer make a bulk load write the same index pages again and again.
 */
export const CHECKPOINT_PAGES = 4096;
const WAL_KEEP_BYTES = 64 * 1024 * 1024;
const CACHE_KIB = 40 * 1024;

/**
 * Opens the database for writing, creating it or upgrading an older one. A new one is readable by its owner
 * and group only: it holds password hashes.
 * @throws LccError `config` when it was written by a newer LCC, has vanished (restored.ts) or is leaving
 *   (aside.ts), `output.create` when it cannot be created, `data.malformed` when it is not a database or is
 *   damaged
 */
export function openDatabase(path: string): Db {
  refuseUnserved(path);
  try {
    return openWal(path, { synchronous: 'FULL', busyMs: BUSY_TIMEOUT_MS }, db => {
      db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
      db.pragma(`journal_size_limit = ${WAL_KEEP_BYTES}`);
      db.pragma(`cache_size = -${CACHE_KIB}`);
      db.pragma('temp_store = MEMORY');
      const made = () => void db.prepare("INSERT INTO meta VALUES ('store_id', ?)").run(randomUUID());
      upgrade(db, path, STEPS, made, defineFolder);
      moveLogins(db);
      db.pragma('foreign_keys = ON');
    });
  } catch (error) {
    throw asLccError(path, error);
  }
}

/**
 * Opens the database for reading only. Reads see one snapshot per transaction and never wait for the writer.
 * @throws LccError `input.missing` when there is none, `config` when its schema is not this program's, or
 *   as openDatabase, `data.malformed` when it is not a database or is damaged, `io.full` and `try.later` as
 *   openForReading
 */
export function openReadOnly(path: string): Db {
  let db: Db | undefined;
  refuseUnserved(path);
  try {
    db = openForReading(path, BUSY_TIMEOUT_MS);
    defineFolder(db);
    const version = versionOf(db, path, STEPS);
    if (version === 0) throw new LccError('input.missing', `${path}: still empty; start lccd`);
    if (version < SCHEMA_VERSION)
      throw new LccError(
        'config',
        `${path}: schema ${version} of an older LCC; lccd upgrades it when it starts`,
      );
    return db;
  } catch (error) {
    db?.close();
    throw asLccError(path, error);
  }
}

/** True if an earlier release wrote it, and the first to open it for writing will bring it to this schema:
 * with millions of urls that wait this takes minutes. False where that cannot be seen. */
export function isToBeUpgraded(path: string): boolean {
  let db: Db | undefined;
  try {
    db = openForReading(path, BUSY_TIMEOUT_MS);
    const version = versionOf(db, path, STEPS);
    return version > 0 && version < SCHEMA_VERSION;
  } catch {
    // The first to open it says what is wrong.
    return false;
  } finally {
    db?.close();
  }
}

function refuseUnserved(path: string): void {
  if (isLeaving(path))
    throw new LccError('config', `${path}: damaged, and its replacement was interrupted; ${GO_ON}`);
  const vanished = hasVanished(path);
  if (vanished !== undefined) throw new LccError('config', `${path}: ${vanished}; ${START_EMPTY}`);
}

function asLccError(path: string, error: unknown): unknown {
  if (error instanceof LccError) return error;
  const code = errnoOf(error) ?? '';
  const hindrance = hindranceOf(path, error);
  if (hindrance !== undefined && (existsSync(path) || hindrance.code === 'input.missing')) return hindrance;
  if (code === 'SQLITE_CANTOPEN' || code === 'ENOENT' || /does not exist/.test(messageOf(error))) {
    const remedy = existsSync(path) ? '' : '; lccd creates it';
    return new LccError('input.missing', `${path}: ${messageOf(error)}${remedy}`, { cause: error });
  }
  if (code.startsWith('E'))
    return new LccError('output.create', `${path}: ${messageOf(error)}`, { cause: error });
  return storageError(path, error);
}

/** True if SQLite says that the file is damaged, or no database at all. What our statements name is there in
 * a database of our schema, unless the list of its tables is damaged. */
export function isDamage(error: unknown): boolean {
  const code = errnoOf(error) ?? '';
  return (
    /^SQLITE_(CORRUPT|NOTADB)/.test(code) ||
    (code === 'SQLITE_ERROR' && /^no such (table|column)/.test(messageOf(error)))
  );
}

/** The advice about one that is being replaced by nobody. */
const GO_ON = 'start lccd, which goes on with that';

/** The advice when nothing can be read of the database. */
export const START_EMPTY =
  'put back a backup of it, or stop lccd and begin with nothing: lccfsck --repair --start-empty';

/**
 * SQLite's report of the disk or the file, as an LccError: `io.full`, `io`, `data.malformed`, or as
 * hindranceOf; all else as it is.
 * @param remedy what to do about damage
 */
export function storageError(
  path: string,
  error: unknown,
  remedy = errnoOf(error) === 'SQLITE_NOTADB' ? START_EMPTY : 'stop lccd and run lccfsck --repair',
): unknown {
  const code = errnoOf(error) ?? '';
  const message = `${path}: ${messageOf(error)}`;
  if (isDamage(error)) {
    const damage = `${path}: database damaged (${messageOf(error)}); ${remedy}`;
    return new LccError('data.malformed', damage, { cause: error });
  }
  if (code === 'SQLITE_FULL') return new LccError('io.full', message, { cause: error });
  if (code.startsWith('SQLITE_IOERR')) return new LccError('io', message, { cause: error });
  return hindranceOf(path, error) ?? error;
}

/** As storageError, for commands: damage is `io`, what they cannot read. Elsewhere it is malformed input,
 * which to users of lccq(1) says that their cursor is of no use: of damage they must not conclude that. */
export function readingError(path: string, error: unknown): unknown {
  const named = storageError(path, error);
  return isDamaged(named) ? new LccError('io', named.message, { cause: named.cause }) : named;
}

/** True if that is an error of a damaged database, named. */
export function isDamaged(error: unknown): error is LccError {
  return error instanceof LccError && isDamage(error.cause);
}
