/**
 * Files that survive a power cut. Order matters and is the point: write → fsync(file) → rename →
 * fsync(directory). Without the first fsync the name can point at nothing; without the second the name itself
 * can be lost.
 *
 * After a failed fsync the kernel may have dropped the pages: the error is passed on and must end the process
 * that meant to acknowledge the data; never retry the fsync.
 */
import {
  closeSync,
  constants,
  existsSync,
  fsync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
  writev,
} from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { promisify } from 'node:util';
import { errnoOf, LccError, reasonOf } from './errors.js';
import { giveFolder, takeAfter } from './owner.js';

/**
 * Creates or replaces `path` with `data`, whole or not at all, also across a power cut, with that mode but
 * for the umask, or that of what was there where it is stricter. It is whose the one before was; what root
 * makes new is its folder's.
 */
export function writeFileDurably(path: string, data: string | Uint8Array, mode = 0o644): void {
  const temporary = `${path}.${process.pid}.tmp`;
  // A file that a killed process left under that name, or somebody else put there, is not written to.
  rmSync(temporary, { force: true });
  const fd = openSync(temporary, 'wx', mode);
  try {
    try {
      takeAfter(fd, path, mode);
      // safeguard: fsync before the rename of a file
      writeAll(fd, typeof data === 'string' ? Buffer.from(data) : data);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  // safeguard: fsync of the directory of a new name
  syncDirectory(dirname(path));
}

/** The same while the process goes on with other work. */
export async function writeFileDurablyAside(
  path: string,
  data: string | Uint8Array,
  mode = 0o644,
): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    await rm(temporary, { force: true });
    const file = await open(temporary, 'wx', mode);
    try {
      takeAfter(file.fd, path, mode);
      await file.writeFile(data);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  const directory = openDirectory(dirname(path));
  try {
    await syncDirectoryAside(directory);
  } finally {
    closeSync(directory);
  }
}

/** Renames and syncs the directory of the new name. The file itself must have been synced before. */
export function renameDurably(from: string, to: string): void {
  renameSync(from, to);
  syncDirectory(dirname(to));
}

/** Makes the names in a directory durable. */
export function syncDirectory(path: string): void {
  const fd = openDirectory(path);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** A descriptor to sync it by, opened early: later, when it holds names, no descriptor may be left. */
export function openDirectory(path: string): number {
  return openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
}

/** Makes the names in an open directory durable while the process goes on with other work. */
export function syncDirectoryAside(fd: number): Promise<void> {
  return new Promise((resolve, reject) => fsync(fd, error => (error === null ? resolve() : reject(error))));
}

/** Places where nobody can make a directory, as against a disk that is full for now. */
const HOPELESS = ['ENOENT', 'EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG'];

/**
 * Creates a directory and its parents. Node's own way (`recursive`) tries for ever where the system says
 * ENOENT to mkdir(2) below a directory that is there, as in /proc.
 * @returns the first directory made, undefined when it was there
 * @throws LccError `output.create` where none can be made
 */
export function makeDirectory(path: string, mode = 0o777): string | undefined {
  const missing: string[] = [];
  for (let at = resolve(path); !existsSync(at); at = dirname(at)) missing.unshift(at);
  if (missing.length === 0 && !statSync(path).isDirectory())
    throw new LccError('output.create', `${path}: not a directory`);
  for (const directory of missing) {
    try {
      mkdirSync(directory, { mode });
      giveFolder(directory);
    } catch (error) {
      const errno = errnoOf(error) ?? '';
      if (errno === 'EEXIST') continue;
      if (!HOPELESS.includes(errno)) throw error;
      throw new LccError('output.create', `${directory}: no directory can be made here: ${reasonOf(error)}`, {
        cause: error,
      });
    }
  }
  return missing[0];
}

/** Creates a directory (and its parents) whose names survive a power cut. */
export function makeDirectoryDurably(path: string, mode = 0o755): void {
  const first = makeDirectory(path, mode);
  if (first === undefined) return;
  for (let made = resolve(path); made.length >= first.length; made = dirname(made))
    syncDirectory(dirname(made));
}

const writeVector = promisify(writev);

/** Writes pieces one after the other, while the process goes on with other work. @param onWritten told how
 * many bytes more are written */
export async function writeAllAside(
  fd: number,
  pieces: readonly Uint8Array[],
  onWritten: (bytes: number) => void = () => undefined,
): Promise<void> {
  for (let left = pieces.filter(({ length }) => length > 0); left.length > 0;) {
    const { bytesWritten } = await writeVector(fd, left);
    onWritten(bytesWritten);
    left = rest(left, bytesWritten);
  }
}

/** The pieces that a write of `written` bytes has left. */
function rest(pieces: Uint8Array[], written: number): Uint8Array[] {
  let taken = written;
  for (const [index, piece] of pieces.entries()) {
    if (taken < piece.length) return [piece.subarray(taken), ...pieces.slice(index + 1)];
    taken -= piece.length;
  }
  return [];
}

/** write(2) until everything is written. */
export function writeAll(fd: number, data: Uint8Array): void {
  for (let offset = 0; offset < data.length;) offset += writeSync(fd, data, offset, data.length - offset);
}
