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

/** Carries out removals one after the other, each a slice at a time in a transaction of its own. */
export abstract class SlicedRemoval implements Chore {
  readonly #options: SlicedRemovalOptions;
  readonly #lookMs: number;
  readonly #size: SliceSize;
  #work: { removal: Removal; removed: number } | undefined;

  /** @param lookMs until `next` is asked again where there was nothing to do */
  constructor(options: SlicedRemovalOptions, lookMs: number) {
    this.#options = options;
    this.#lookMs = lookMs;
    this.#size = new SliceSize({ most: options.sliceUrls, aloneMs: 0, isShared: () => true });
  }

  /** @param rows of a slice @returns undefined: nothing to remove */
  protected abstract next(rows: () => number, nowS: () => number): Removal | undefined;

  run(): number {
    const work = (this.#work ??= this.#begin());
    if (work === undefined) return this.#lookMs;
    // After a failure the removal begins again: its slices have gone on, the database has not.
    this.#work = undefined;
    const { store, clock, onCommit } = this.#options;
    const { removal } = work;
    const startedMs = clock.monotonicMs();
    const rows = this.#size.urls;
    const state = store.transaction(() => {
      if (!removal.isWanted()) return 'unwanted';
      const { done, value } = removal.slices.next();
      if (done === true) {
        removal.end();
        return 'ended';
      }
      this.#size.took(rows, clock.monotonicMs() - startedMs, 0);
      work.removed += value;
      return 'sliced';
    });
    onCommit();
    if (state === 'sliced') {
      removal.sliced();
      this.#work = work;
    } else if (state === 'ended') removal.ended(work.removed);
    return PAUSE_MS;
  }

  #begin() {
    const nowS = () => Math.floor(this.#options.clock.nowMs() / 1000);
    const removal = this.next(() => this.#size.urls, nowS);
    return removal === undefined ? undefined : { removal, removed: 0 };
  }
}
