/**
 * Sets of which nothing is left, to be taken out of the order. That rides on the transaction of the next results: with many
 * small sets a transaction of their own would be made as often again as for results. A set that a crash leaves there is
 * found empty by the next start.
 */
import type { WaitingSet } from '../db/queue/sets.js';
import type { QueueStore } from '../db/queue/store.js';
import type { Clock } from '../lib/clock.js';
import { step } from '../lib/steps.js';

/** Longest wait for results. */
const LONGEST_WAIT_MS = 100;

export interface FinishedSetsOptions {
  store: QueueStore;
  clock: Clock;
  /** A transaction failed. */
  failed: (error: unknown) => boolean;
}

export class FinishedSets {
  readonly #options: FinishedSetsOptions;
  #sets: WaitingSet[] = [];
  /** How many of them the transaction that is being made removes. */
  #removing = 0;
  #cancel: (() => void) | undefined;

  constructor(options: FinishedSetsOptions) {
    this.#options = options;
  }

  /** @param resultsFollow there will be a transaction of results soon, or it is likely */
  add(sets: readonly WaitingSet[], resultsFollow: boolean): void {
    this.#sets.push(...sets);
    if (!resultsFollow) this.flush();
    else this.#cancel ??= this.#options.clock.after(LONGEST_WAIT_MS, () => this.flush());
  }

  /** Removes them, inside a transaction; `removed` must follow when that is committed. */
  remove(): void {
    const { queue } = this.#options.store;
    this.#removing = this.#sets.length;
    // Rows may be back in their set by now, because their hours have come.
    for (const set of this.#sets) if (!queue.hasRows(set)) queue.removeSet(set);
  }

  removed(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    if (this.#removing === 0) return;
    this.#sets.splice(0, this.#removing);
    this.#removing = 0;
    step('qm.set.finished');
  }

  /** Removes them in a transaction of their own. */
  flush(): void {
    if (this.#sets.length === 0) return;
    const { store, failed } = this.#options;
    try {
      store.transaction(() => this.remove());
    } catch (error) {
      // Only empty entries of qpsdb remain; they are found empty after the next start.
      failed(error);
    }
    this.removed();
  }
}
