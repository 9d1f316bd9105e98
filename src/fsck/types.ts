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

export interface DatabaseOptions {
  dbPath: string;
  repair: boolean;
  /** With `repair`: a database of which no provider can be read is replaced by an empty one. */
  startEmpty: boolean;
  /** Number of the home among those of the LCC. */
  shard: number;
  nowMs: () => number;
}

export interface StorePlace {
  storeDir: string;
  /** Machine whose files are below `storeDir`; undefined: as its machine-id says. */
  machineId: string | undefined;
  /** With `repair`: the store is taken as it is, though rows point into another that is gone, or nothing is
   * there. */
  storeLost: boolean;
  fsmSpoolDir: string;
}

export interface FsckOptions extends DatabaseOptions, StorePlace {
  unsSpoolDir: string;
  clearDir: string;
  /** Files are not read. */
  quick: boolean;
  /** With `repair`: the database was put back from a backup; it begins again with all peers. */
  restored: boolean;
  /** With `repair`: files without rows go, however many they are. */
  removeOrphans: boolean;
  /** With `repair`: every machine reads all its content again when it connects. */
  recheck: boolean;
}

export interface CheckContext extends Omit<FsckOptions, 'machineId'> {
  db: Db;
  look: FsckLook;
  /** Undefined: look only. */
  repairs: Repairs | undefined;
  /** The daemons run: what is found must be found twice, and what only they know is left out. */
  live: boolean;
  /** Undefined: there is no store on this machine. */
  machineId: string | undefined;
  /** Machine whose rows point into another store than the one that is here. */
  strangeMachineId: string | undefined;
  /** Undefined: the Bot Manager has it, or it cannot be read. */
  names: NamesDb | undefined;
  /** Which names rows of this machine hold, and which wait to be deleted: filled by `content`, for `store`
   * and `freeList`. */
  known: TemporaryNames;
  extent: Extent;
  /** Progress, where somebody watches. */
  advance: ((count: number) => void) | undefined;
}

export type Check = (context: CheckContext) => Iterable<Finding> | AsyncIterable<Finding>;
