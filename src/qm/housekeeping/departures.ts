import type { Departure } from '../../db/providers/departures.js';
import type { QueueStore } from '../../db/queue/store.js';
import type { Clock } from '../../lib/clock.js';
import type { Log } from '../../lib/log.js';
import { step } from '../../lib/steps.js';
import { strictRootCheck } from '../../wire/roots.js';
import { SliceSize } from '../slice-size.js';
import type { Chore } from './chore.js';

const LOOK_MS = 1000;
/** Between two slices, for everything else. */
const PAUSE_MS = 5;

export interface DeparturesOptions {
  store: QueueStore;
  clock: Clock;
  log: Log;
  /** Most urls removed in one transaction. */
  sliceUrls: number;
  /** Something was committed: there may be files to delete. */
  onCommit: () => void;
  /** A provider has ended. */
  changed: (pid: number) => void;
}

/** Removes what providers that have left held, and what lies outside of the roots that others still have, a slice at a time. */
export class Departures implements Chore {
  readonly #options: DeparturesOptions;
  readonly #size: SliceSize;
  #work: { departure: Departure; steps: Generator<number, void>; removed: number } | undefined;

  constructor(options: DeparturesOptions) {
    this.#options = options;
    this.#size = new SliceSize({ most: options.sliceUrls, aloneMs: 0, isShared: () => true });
  }

  run(): number {
    const work = (this.#work ??= this.#next());
    if (work === undefined) return LOOK_MS;
    // After a failure the work begins again: the steps have gone on, the database has not.
    this.#work = undefined;
    const { store, clock, log, onCommit, changed } = this.#options;
    const { departure } = work;
    const startedMs = clock.monotonicMs();
    const rows = this.#size.urls;
    const isOver = store.transaction(() => {
      if (!store.departures.isMeant(departure)) return undefined;
      const { done, value } = work.steps.next();
      if (done === true) {
        store.departures.done(departure);
        return true;
      }
      this.#size.took(rows, clock.monotonicMs() - startedMs, 0);
      work.removed += value;
      return false;
    });
    onCommit();
    if (isOver === undefined) return PAUSE_MS;
    if (!isOver) {
      step('qm.departure.removed');
      this.#work = work;
      return PAUSE_MS;
    }
    step('qm.departure.done');
    const { pid, kind } = departure;
    changed(pid);
    log.info(kind === 'all' ? 'provider has left' : 'urls outside of the roots removed', {
      pid,
      removed: work.removed,
    });
    return PAUSE_MS;
  }

  #next() {
    const { store, clock } = this.#options;
    const nowS = () => Math.floor(clock.nowMs() / 1000);
    const departure = store.departures.next(nowS());
    if (departure === undefined) return undefined;
    const { pid, kind } = departure;
    const rows = () => this.#size.urls;
    const steps =
      kind === 'all'
        ? store.departures.removeAll(pid, rows, nowS)
        : store.departures.removeOutside(pid, () => strictRootCheck(store.providers.roots(pid)), rows, nowS);
    return { departure, steps, removed: 0 };
  }
}
