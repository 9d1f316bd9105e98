/**
 * Opening a database in WAL mode for reading only. SQLite reads one only where its log and the index of that
 * are, or can be made: not one that was closed in good order and is on a read-only disk, a backup or a
 * snapshot that is mounted, or in a folder that its reader may not write to; nor one whose writer was killed,
 * where the reader may not write to the index. Its `immutable=1` would do that, but ours is compiled without
 * URIs, and it passes over a log that is there. So such a one is read from a copy in the folder for temporary
 * files, which goes with its last reader.
 */
import {
  accessSync,
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  mkdtempSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { READER_BYTES, requireRoom, roomlessness } from './disk-room.js';
import { errnoOf, LccError } from './errors.js';
import { openSqlite, type Db } from './sqlite.js';

/** The file and state that each copy was made of. */
const copies = new WeakMap<Db, { path: string; state: string }>();

/**
 * @param busyMs how long another process is waited for
 * @throws what SQLite and the file system throw; LccError `io.full` when a disk has no room for what it
 *   takes, `try.later` when somebody begins to write to what is being copied
 */
export function openForReading(path: string, busyMs: number): Db {
  const hasIndex = existsSync(`${path}-wal`) && existsSync(`${path}-shm`);
  if (!hasIndex && (isOnReadOnlyDisk(path) || isClosedFolder(path))) return openCopy(path);
  // The first to open it makes the index of its log; others find one.
  if (existsSync(path) && !existsSync(`${path}-shm`)) requireRoom(path, READER_BYTES);
  const db = openSqlite(path, { readonly: true, fileMustExist: true, timeout: busyMs });
  try {
    db.pragma('schema_version');
    return db;
  } catch (error) {
    db.close();
    if (!hasIndex || !/^SQLITE_(READONLY|CANTOPEN)/.test(errnoOf(error) ?? '')) throw error;
    return openCopy(path);
  }
}

/** True if a file is there to be read in a folder that this user may not write to. */
function isClosedFolder(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
  } catch {
    return false;
  }
  try {
    accessSync(dirname(path), constants.W_OK);
    return false;
  } catch (error) {
    return errnoOf(error) === 'EACCES';
  }
}

/** True if a file is there that no user can write to from here. */
export function isOnReadOnlyDisk(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return false;
  } catch (error) {
    return errnoOf(error) === 'EROFS';
  }
}

/** True if it is a copy of what is written to since: a disk may be read-only for us alone. */
export function isOutdated(db: Db): boolean {
  const copy = copies.get(db);
  return copy !== undefined && stateOf(copy.path) !== copy.state;
}

/** Reads a copy, with what the log beside it has. @throws as openForReading */
export function openCopy(path: string): Db {
  const state = stateOf(path);
  const logBytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  const roomless = roomlessness(tmpdir(), statSync(path).size + 2 * logBytes + READER_BYTES);
  if (roomless !== undefined)
    throw new LccError(
      'io.full',
      `${path} is on a read-only disk and read from a copy: ${roomless}, or name another folder in TMPDIR`,
    );
  const dir = mkdtempSync(join(tmpdir(), 'lcc-read-'));
  let db: Db | undefined;
  try {
    const copy = join(dir, 'copy.db');
    for (const part of logBytes > 0 ? ['', '-wal'] : ['']) {
      copyFileSync(path + part, copy + part);
      chmodSync(copy + part, 0o600);
    }
    db = openSqlite(copy);
    db.pragma('synchronous = OFF');
    // Without a log it needs nothing beside it, and its file no name.
    db.pragma('journal_mode = DELETE');
    db.pragma('query_only = ON');
    copies.set(db, { path, state });
    if (isOutdated(db)) throw new LccError('try.later', `${path}: another process writes to it; run again`);
    return db;
  } catch (error) {
    db?.close();
    throw error;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Another one when somebody opens it for writing. */
function stateOf(path: string): string {
  return ['', '-wal']
    .map(part => {
      const file = statSync(path + part, { throwIfNoEntry: false });
      return file === undefined ? '-' : `${file.ino} ${file.size} ${file.mtimeMs}`;
    })
    .join(', ');
}
