/**
 * The files of a home, copied one by one. What never changes once it has its name (content, entries of
 * spools, records) is linked where the disk is the same; what is written in place is copied.
 */
import {
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { errnoOf, LccError } from '../../lib/errors.js';
import { giveTo, type Owner } from '../../lib/owner.js';

/** Sockets of this run, and what belongs to databases and processes that are open. */
const LEFT_OUT = /(?:^|\/)(?:lock|[^/]*\.lock|[^/]*\.tmp|[^/]*-(?:wal|shm|journal)|[^/]*\.last-\d+)$/;
/** Entries of spools, and records of the Spider: written once. */
const UNCHANGING = /^(?:spool\/.*(?:new|bad)\/|spider\/.*\d{6}\/\d{9}\b)/;
/** Parts of spools that nobody was promised. */
const UNPROMISED = /^(?:run|spool\/.*\/tmp)$/;

export class TreeCopy {
  readonly #from: string;
  readonly #to: string;
  readonly #owner: Owner | undefined;
  #canLink = true;

  /** @param owner of all that root copies; left out: each copy stays whose the original is */
  constructor(from: string, to: string, owner?: Owner) {
    this.#from = from;
    this.#to = to;
    this.#owner = owner;
  }

  /**
   * Copies what is below a folder of the home and not there yet.
   * @param isWanted by the path below the home; folders are asked for, too
   * @param isStore nothing of it changes
   * @returns paths of databases, which are left to the caller
   */
  below(folder: string, isWanted: (path: string) => boolean = () => true, isStore = false): string[] {
    const databases: string[] = [];
    for (const entry of namesIn(join(this.#from, folder))) {
      const path = folder === '' ? entry : `${folder}/${entry}`;
      const isUnchanging = isStore || UNCHANGING.test(path);
      if ((LEFT_OUT.test(path) && !isUnchanging) || UNPROMISED.test(path) || !isWanted(path)) continue;
      const stats = lstatSync(join(this.#from, path), { throwIfNoEntry: false });
      if (stats === undefined) continue;
      if (stats.isDirectory()) {
        this.folder(path);
        databases.push(...this.below(path, isWanted, isStore));
      } else if (stats.isSymbolicLink()) this.#symlink(path, stats);
      else if (stats.isFile() && path.endsWith('.db') && !isUnchanging) databases.push(path);
      else if (stats.isFile()) this.file(path, isUnchanging);
    }
    return databases;
  }

  /** Makes a folder, and those around it, as they are in the home. */
  folder(path: string): void {
    const at = join(this.#to, path);
    if (lstatSync(at, { throwIfNoEntry: false }) !== undefined) return;
    if (path.includes('/')) this.folder(path.slice(0, path.lastIndexOf('/')));
    const stats = lstatSync(join(this.#from, path));
    mkdirSync(at, { mode: stats.mode & 0o777 });
    giveTo(at, this.#owner ?? stats);
  }

  /** Links a file that never changes, copies another. @returns false: it is gone by now */
  file(
    path: string,
    isUnchanging: boolean,
    from = join(this.#from, path),
    to = join(this.#to, path),
  ): boolean {
    try {
      if (isUnchanging && this.#link(from, to)) return true;
      if (existsSync(to)) return true;
      // Half of a file never has the name.
      const draft = `${to}.tmp`;
      copyFileSync(from, draft, constants.COPYFILE_FICLONE);
      giveTo(draft, this.#owner ?? lstatSync(from));
      renameSync(draft, to);
      return true;
    } catch (error) {
      const errno = errnoOf(error);
      if (errno === 'EEXIST') return true;
      // Nobody takes a folder away, so it is the file.
      if (errno === 'ENOENT') return false;
      if (errno === 'ENOSPC' || errno === 'EDQUOT')
        throw new LccError(
          'io.full',
          `${to}: no room on its disk; free some, or name a folder on another one`,
          {
            cause: error,
          },
        );
      throw error;
    }
  }

  #link(from: string, to: string): boolean {
    // A link is whose the original is.
    if (!this.#canLink || this.#owner !== undefined) return false;
    try {
      linkSync(from, to);
      return true;
    } catch (error) {
      if (!['EXDEV', 'EPERM', 'EMLINK', 'ENOTSUP', 'EOPNOTSUPP'].includes(errnoOf(error) ?? '')) throw error;
      // A single file may have as many links as it can.
      this.#canLink = errnoOf(error) === 'EMLINK';
      return false;
    }
  }

  #symlink(path: string, stats: Owner): void {
    const at = join(this.#to, path);
    if (lstatSync(at, { throwIfNoEntry: false }) !== undefined) return;
    symlinkSync(readlinkSync(join(this.#from, path)), at);
    giveTo(at, this.#owner ?? stats);
  }
}

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return [];
    throw error;
  }
}
