import type { DecidedSet } from '../../db/queue/held.js';
import type { QueueStore } from '../../db/queue/store.js';
import type { Clock } from '../../lib/clock.js';
import type { Log } from '../../lib/log.js';
import { step } from '../../lib/steps.js';
import { SliceSize } from '../slice-size.js';
import type { Chore } from './chore.js';

const LOOK_MS = 500;
/** Between two slices, for everything else. */
const PAUSE_MS = 5;

export interface DecidedRemovalsOptions {
  store: QueueStore;
  clock: Clock;
  log: Log;
  /** Most urls removed in one transaction. */
  sliceUrls: number;
  /** Something was committed: there may be files to delete. */
  onCommit: () => void;
}

/** Carries out the removals of held sets that were released, and forgets those that were discarded, a slice at a time. */
export class DecidedRemovals implements Chore {
  readonly #options: DecidedRemovalsOptions;
  readonly #size: SliceSize;
  #work: { set: DecidedSet; steps: Generator<number, void>; removed: number } | undefined;

  constructor(options: DecidedRemovalsOptions) {
    this.#options = options;
    this.#size = new SliceSize({ most: options.sliceUrls, aloneMs: 0, isShared: () => true });
  }

  run(): number {
    const work = (this.#work ??= this.#next());
    if (work === undefined) return LOOK_MS;
    // After a failure the work begins again: the steps have gone on, the database has not.
    this.#work = undefined;
    const { store, clock, log, onCommit } = this.#options;
    const startedMs = clock.monotonicMs();
    const rows = this.#size.urls;
    const isOver = store.transaction(() => {
      const { done, value } = work.steps.next();
      if (done === true) {
        store.held.forget(work.set.psetid);
        return true;
      }
      this.#size.took(rows, clock.monotonicMs() - startedMs, 0);
      work.removed += value;
      return false;
    });
    onCommit();
    if (!isOver) {
      step('qm.held.removed');
      this.#work = work;
      return PAUSE_MS;
    }
    step('qm.held.forgotten');
    const { pid, psetid, state } = work.set;
    log.info(state === 'discarded' ? 'held removals forgotten' : 'held removals carried out', {
      pid,
      psetid,
      removed: work.removed,
    });
    return PAUSE_MS;
  }

  #next() {
    const { store, clock } = this.#options;
    const set = store.held.decided();
    if (set === undefined) return undefined;
    const { psetid, pid } = set;
    const rows = () => this.#size.urls;
    const nowS = () => Math.floor(clock.nowMs() / 1000);
    const steps =
      set.state === 'discarded'
        ? store.held.drop(psetid, rows)
        : set.isfull === 1
          ? store.reconciler.run(pid, psetid, rows, nowS)
          : store.held.carryOut(set, rows, nowS);
    return { set, steps, removed: 0 };
  }
}
