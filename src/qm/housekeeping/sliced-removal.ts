import type { QueueStore } from '../../db/queue/store.js';
import type { Clock } from '../../lib/clock.js';
import { SliceSize } from '../slice-size.js';
import type { Chore } from '../housekeeping.js';

/** Between two slices, for everything else. */
const PAUSE_MS = 5;

export interface SlicedRemovalOptions {
  store: QueueStore;
  clock: Clock;
  /** Most urls removed in one transaction. */
  sliceUrls: number;
  /** Something was committed: there may be files to delete. */
  onCommit: () => void;
}

/** Rows to be removed. */
export interface Removal {
  /** A slice each; each gives the number of urls that it removed. */
  slices: Generator<number, void>;
  /** True if it is still wanted: read in the transaction of each slice. */
  isWanted: () => boolean;
  /** In the transaction after the last slice. */
  end: () => void;
  /** A slice is committed. */
  sliced: () => void;
  /** The end is committed. @param removed urls, since this process began with it */
  ended: (removed: number) => void;
}

/**
 * Carries out removals one after the other, each a slice at a time in a transaction of its own.
 * @param lookMs until `next` is asked again where there was nothing to do
 * @param next undefined: nothing to remove; `rows`: those of a slice
 */
export function slicedRemoval(
  { store, clock, sliceUrls, onCommit }: SlicedRemovalOptions,
  lookMs: number,
  next: (rows: () => number, nowS: () => number) => Removal | undefined,
): Chore {
  const size = new SliceSize({ most: sliceUrls, aloneMs: 0, isShared: () => true });
  const nowS = () => Math.floor(clock.nowMs() / 1000);
  let removal: Removal | undefined;
  let removed = 0;
  const slice = (now: Removal): 'unwanted' | 'ended' | 'sliced' => {
    if (!now.isWanted()) return 'unwanted';
    const startedMs = clock.monotonicMs();
    const rows = size.urls;
    const { done, value } = now.slices.next();
    if (done === true) {
      now.end();
      return 'ended';
    }
    size.took(rows, clock.monotonicMs() - startedMs, 0);
    removed += value;
    return 'sliced';
  };
  return {
    run() {
      if (removal === undefined) removed = 0;
      const now = removal ?? next(() => size.urls, nowS);
      if (now === undefined) return lookMs;
      // After a failure the removal begins again: its slices have gone on, the database has not.
      removal = undefined;
      const state = store.transaction(() => slice(now));
      onCommit();
      if (state === 'sliced') {
        now.sliced();
        removal = now;
      } else if (state === 'ended') now.ended(removed);
      return PAUSE_MS;
    },
  };
}
