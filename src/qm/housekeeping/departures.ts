import type { Log } from '../../lib/log.js';
import { step } from '../../lib/steps.js';
import { strictRootCheck } from '../../wire/roots.js';
import type { Chore } from '../housekeeping.js';
import { slicedRemoval, type SlicedRemovalOptions } from './sliced-removal.js';

const LOOK_MS = 1000;

export interface DeparturesOptions extends SlicedRemovalOptions {
  log: Log;
  /** A provider has ended. */
  changed: (pid: number) => void;
}

/** Removes what providers that have left held, and what lies outside of the roots that others still have. */
export function departures(options: DeparturesOptions): Chore {
  const { store, log, changed } = options;
  return slicedRemoval(options, LOOK_MS, (rows, nowS) => {
    const departure = store.departures.next(nowS());
    if (departure === undefined) return undefined;
    const { pid, kind } = departure;
    return {
      slices:
        kind === 'all'
          ? store.departures.removeAll(pid, rows, nowS)
          : store.departures.removeOutside(
              departure,
              () => strictRootCheck(store.providers.roots(pid)),
              rows,
              nowS,
            ),
      isWanted: () => store.departures.isMeant(departure),
      end: () => store.departures.done(departure),
      sliced: () => step('qm.departure.removed'),
      ended: removed => {
        step('qm.departure.done');
        changed(pid);
        log.info(kind === 'all' ? 'provider has left' : 'urls outside of the roots removed', {
          pid,
          removed,
        });
      },
    };
  });
}
