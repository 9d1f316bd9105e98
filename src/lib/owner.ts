/**
 * Ownership of files that root makes for others: a file or folder made by a command that root runs belongs to
 * whom its folder belongs to, or the daemons, which run as that user, could not open it. What is replaced
 * stays whose it was.
 */
import {
  closeSync,
  existsSync,
  fchmodSync,
  fchownSync,
  lchownSync,
  openSync,
  statSync,
  type Stats,
} from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf } from './errors.js';

const isRoot = () => process.geteuid?.() === 0;

/**
 * Gives a file that is about to take the place of `path` the owner, group and mode of what is there, as far
 * as the mode is no wider than `mode`. What is new and made by root is its folder's.
 * @param fd of it: its name may be somebody else's to replace
 */
export function takeAfter(fd: number, path: string, mode: number): void {
  const old = statSync(path, { throwIfNoEntry: false });
  if (isRoot()) own(fd, old ?? statSync(dirname(path)));
  if (old !== undefined) fchmodSync(fd, old.mode & mode);
}

/** Gives a folder that was just made to the owner of the one around it. */
export function giveFolder(path: string): void {
  if (!isRoot()) return;
  const { uid, gid } = statSync(dirname(path));
  lchownSync(path, uid, gid);
}

/** A user and group. */
export type Owner = Pick<Stats, 'uid' | 'gid'>;

/** Gives what root has made to somebody. */
export function giveTo(path: string, { uid, gid }: Owner): void {
  if (isRoot()) lchownSync(path, uid, gid);
}

/** Makes an empty file where there is none: SQLite would make one that is root's. */
export function makeFile(path: string, mode: number): void {
  if (existsSync(path)) return;
  try {
    const fd = openSync(path, 'wx', mode);
    if (isRoot()) {
      const folder = statSync(dirname(path));
      own(fd, folder);
      // The umask of root says nothing about files of others.
      if (folder.uid !== 0) fchmodSync(fd, mode);
    }
    closeSync(fd);
  } catch (error) {
    // Somebody else has made it meanwhile.
    if (errnoOf(error) !== 'EEXIST') throw error;
  }
}

function own(fd: number, { uid, gid }: Stats): void {
  fchownSync(fd, uid, gid);
}
