import type { Log } from '../../lib/log.js';
import { step } from '../../lib/steps.js';
import { SlicedRemoval, type Removal, type SlicedRemovalOptions } from './sliced-removal.js';

const LOOK_MS = 500;

export interface DecidedRemovalsOptions extends SlicedRemovalOptions {
  log: Log;
}

/** Carries out the removals of held sets that were released, and forgets those that were discarded. */
export class DecidedRemovals extends SlicedRemoval {
  readonly #options: DecidedRemovalsOptions;

  constructor(options: DecidedRemovalsOptions) {
    super(options, LOOK_MS);
    this.#options = options;
  }

  protected next(rows: () => number, nowS: () => number): Removal | undefined {
    const { store, log } = this.#options;
    const set = store.held.decided();
    if (set === undefined) return undefined;
    const { psetid, pid, state } = set;
    return {
      slices:
        state === 'discarded'
          ? store.held.drop(psetid, rows)
          : set.isfull === 1
            ? store.reconciler.run(pid, psetid, rows, nowS)
            : store.held.carryOut(set, rows, nowS),
      isWanted: () => true,
      end: () => store.held.forget(psetid),
      sliced: () => step('qm.held.removed'),
      ended: removed => {
        step('qm.held.forgotten');
        log.info(state === 'discarded' ? 'held removals forgotten' : 'held removals carried out', {
          pid,
          psetid,
          removed,
        });
      },
    };
  }
}
