/** The type of a check. */
import type { FsckLook } from '../db/fsck-look.js';
import type { Repairs } from '../db/repairs.js';
import type { NamesDb } from '../db/names/names.js';
import type { Db } from '../db/sqlite/open.js';
import type { TemporaryNames } from '../db/names/temporary-names.js';

/** One thing that is not as it should be. */
export interface Finding {
  /** Stable word for programs. */
  kind:
    | 'database'
    | 'set'
    | 'sequence'
    | 'bad-fileid'
    | 'shared-file'
    | 'missing-file'
    | 'altered-file'
    | 'orphan'
    | 'leftover'
    | 'free-list'
    | 'counter'
    | 'spool'
    | 'store';
  where: string;
  what: string;
  /** True if it has been put right. */
  repaired: boolean;
  /** No repair puts it right: a daemon does, or a person, as it says. */
  remains?: true;
}

/** A finding that no repair puts right. */
export function remaining(kind: Finding['kind'], where: string, what: string): Finding {
  return { kind, where, what, repaired: false, remains: true };
}

/** The extent of a look. */
export interface Extent {
  rows: number;
  /** Rows whose content is on other machines: their files were not looked at. */
  elsewhere: number;
  files: number;
  bytes: number;
  /** Deletions that wait: of files in the store that nobody wants any more. */
  leaving: number;
}

export interface CheckContext {
  db: Db;
  look: FsckLook;
  /** Undefined: look only. */
  repairs: Repairs | undefined;
  /** The daemons run: what is found must be found twice, and what only they know is left out. */
  live: boolean;
  /** Files of this machine's former store are gone: their names are the new store's to give. */
  storeLost: boolean;
  /** Files without rows go, even when they are most of the store. */
  removeOrphans: boolean;
  /** The database was put back just now: it cannot know what came since. */
  restored: boolean;
  /** Files are not read. */
  quick: boolean;
  storeDir: string;
  /** Undefined: there is no store on this machine. */
  machineId: string | undefined;
  /** Machine whose rows point into another store than the one that is here. */
  strangeMachineId: string | undefined;
  /** Undefined: the Bot Manager has it, or it cannot be read. */
  names: NamesDb | undefined;
  unsSpoolDir: string;
  fsmSpoolDir: string;
  /** Which names rows of this machine hold, and which wait to be deleted: filled by `content`, for `store`
   * and `freeList`. */
  known: TemporaryNames;
  extent: Extent;
  /** Progress, where somebody watches. */
  advance: ((count: number) => void) | undefined;
}

export type Check = (context: CheckContext) => Iterable<Finding> | AsyncIterable<Finding>;
