/** Parts that the Queue Manager gives to each set that it takes. */
import type { WaitingSet } from '../db/queue/sets.js';
import type { QueueStore } from '../db/queue/store.js';
import type { Clock } from '../lib/clock.js';
import type { GroupCommit } from '../lib/group-commit.js';
import type { Log } from '../lib/log.js';
import type { FuseRules } from './fuse.js';
import type { SliceSize } from './slice-size.js';

export interface TakingOptions {
  store: QueueStore;
  clock: Clock;
  log: Log;
  /** Most urls applied in one transaction. */
  sliceUrls: number;
  fullSetPeriodMs: number;
  fuse: FuseRules;
  /** True if anything is being fetched. */
  isFetching: () => boolean;
  /** Pages that commits have written so far. */
  pagesWritten: () => number;
  /** A set is complete, or more of a large one is taken: the scheduler may have its urls, and has none from
   * a place on yet. */
  onSet: (set: WaitingSet, fromPos?: number) => void;
  /**
   * Something of a set of provider `pid` was committed: there may be files to delete.
   * @param haveChanged urls that waited already must be fetched otherwise, or not at all
   */
  onCommit: (pid: number, haveChanged: boolean) => void;
}

export interface SliceSizes {
  /** Urls applied in a transaction … */
  slice: SliceSize;
  /** … and urls removed in one. */
  removal: SliceSize;
}

/** Parts that all sets share. */
export interface TakingParts {
  sizes: SliceSizes;
  /** Commits the last slices of sets together. */
  commits: GroupCommit;
  /** After so much work on the set: resolves when others have had their share. */
  rest: (workedMs: number) => Promise<void>;
}
