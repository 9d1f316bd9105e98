/**
 * Room for a database to be opened in. SQLite maps the index of a write-ahead log into memory, and where a
 * disk has blocks smaller than a page of it the file may lack some: writing to such a page when no block is
 * left kills the process with SIGBUS, which nothing can catch. So nobody opens a database for writing on a
 * disk without room.
 */
import { spawnSync } from 'node:child_process';
import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { LccError } from './errors.js';

/** Bytes that must be free to write: the index of the log, its first pages, what the database itself needs
 * for the beginning. */
const WRITER_BYTES = 1024 * 1024;
/** To read where nobody writes: the index of the log as it is at first, and some to spare. */
export const READER_BYTES = 64 * 1024;
/** Pages that SQLite makes sure of when it maps them, by writing one byte in each. */
const PAGE_BYTES = 4096;
/** The index of a log of 128 MB: no transaction is as large, and readers seldom keep a log from beginning
 * again. */
const INDEX_BYTES = 256 * 1024;

/** Says that the disk of a folder has no room to open databases in; undefined when it has, or cannot be
 * asked. */
export function roomlessness(dir: string, neededBytes = WRITER_BYTES): string | undefined {
  let freeBytes: number;
  try {
    const { bavail, bsize } = statfsSync(dir);
    freeBytes = bavail * bsize;
  } catch {
    return undefined;
  }
  if (freeBytes >= neededBytes) return undefined;
  const kilobytes = (bytes: number) => `${Math.floor(bytes / 1024)} KB`;
  return `no room on the disk of ${dir}: ${kilobytes(freeBytes)} free, ${kilobytes(neededBytes)} needed; free some`;
}

/** @throws LccError `io.full` when the disk of the file has no room for it to be opened as a database */
export function requireRoom(path: string, neededBytes?: number): void {
  const reason = roomlessness(dirname(path), neededBytes);
  if (reason !== undefined) throw new LccError('io.full', reason);
}

/** Has all of the index of an open database's log given blocks, where a page of it may lack some. */
export function backIndex(path: string): void {
  if (statfsSync(dirname(path)).bsize >= PAGE_BYTES) return;
  // Node has no call for it. Without the program the index is as SQLite makes it, on a disk that has room for
  // now.
  spawnSync('fallocate', ['--length', String(INDEX_BYTES), `${path}-shm`], { stdio: 'ignore' });
}
