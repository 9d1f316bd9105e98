import type { Log } from '../../lib/log.js';
import { step } from '../../lib/steps.js';
import type { Chore } from '../housekeeping.js';
import { slicedRemoval, type SlicedRemovalOptions } from './sliced-removal.js';

const LOOK_MS = 500;

/** Carries out the removals of held sets that were released, and forgets those that were discarded. */
export function decidedRemovals(options: SlicedRemovalOptions & { log: Log }): Chore {
  const { store, log } = options;
  return slicedRemoval(options, LOOK_MS, (rows, nowS) => {
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
  });
}
