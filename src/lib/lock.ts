/**
 * "Only one at a time", across processes, for as long as the holder lives: a lock dies with its process,
 * however it dies. Node has no flock(2); SQLite takes a POSIX record lock on our behalf, on a file that holds
 * nothing else.
 */
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { errnoOf, LccError } from './errors.js';
import { makeFile } from './owner.js';
import { hasOpen, processText } from './process-text.js';
import { hindranceOf, openSqlite, type Db } from './sqlite.js';

export interface Lock {
  release(): void;
}

/**
 * Takes the lock of `path` (created when missing); undefined when another process, or another caller in this
 * one, has it. The file stays: removing it would let two holders in.
 * @throws LccError `config` for a file that is something else; what SQLite and the file system throw
 */
export function tryLock(path: string): Lock | undefined {
  let db: Db | undefined;
  try {
    makeFileOfFolder(path);
    const taken = (db = openSqlite(path, { timeout: 0 }));
    // Without a journal SQLite would write its first page to the file: on a full disk there would be no lock.
    taken.pragma('journal_mode = MEMORY');
    taken.pragma('locking_mode = EXCLUSIVE');
    taken.exec('BEGIN EXCLUSIVE');
    return { release: () => void taken.close() };
  } catch (error) {
    db?.close();
    if (errnoOf(error)?.startsWith('SQLITE_BUSY')) return undefined;
    if (/^SQLITE_(NOTADB|CORRUPT)/.test(errnoOf(error) ?? ''))
      throw new LccError('config', `${path}: no lock of the LCC; remove it`, { cause: error });
    // SQLite does not say which file: a lock may be the first thing that a read-only disk has none of.
    const hindrance = hindranceOf(path, error);
    if (hindrance !== undefined) throw hindrance;
    if (error instanceof Error) error.message = `${path}: ${error.message}`;
    throw error;
  }
}

/** Where root makes it; what hinders that, SQLite says. */
function makeFileOfFolder(path: string): void {
  try {
    if (process.geteuid?.() === 0) makeFile(path, 0o644);
  } catch {
    // See above.
  }
}

/** True if somebody has the lock of `path`. It is taken for a moment to find out. */
export function isLocked(path: string): boolean {
  if (!existsSync(path)) return false;
  const lock = tryLock(path);
  lock?.release();
  return lock === undefined;
}

/** The holder of a file's lock, for a message: `lccd-qm (process 4711)`; `another process` where the system
 * does not tell, as of another user's. Also of a file that SQLite has locked for itself. */
export function holderOf(path: string): string {
  try {
    const { ino } = statSync(path, { bigint: true });
    const real = realpathSync(path);
    const locks = readFileSync('/proc/locks', 'utf8').matchAll(/ WRITE +([1-9]\d*) \w+:\w+:(\d+) /g);
    for (const [, pid = '', inode] of locks)
      // Inodes of two disks may have one number.
      if (inode === ino.toString() && hasOpen(pid, target => target === real)) return processText(pid);
  } catch {
    // Not to be found out here.
  }
  return 'another process';
}
