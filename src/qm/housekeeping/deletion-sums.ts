import type { DamagedDeletion } from '../../db/damage.js';
import type { QueueStore } from '../../db/queue/store.js';
import type { Chore } from './chore.js';

/** From one page of a thousand to the next; a million deletions take ten minutes. */
const PAGE_PAUSE_MS = 500;
const ROUND_PAUSE_MS = 3_600_000;

/**
 * Looks through what content users are told to be gone, round after round: a damaged deletion that their selections leave
 * out, or SQLite does not find, they would not notice themselves.
 */
export class DeletionSums implements Chore {
  readonly #store: QueueStore;
  readonly #damaged: (found: DamagedDeletion) => void;
  #pages: Generator<DamagedDeletion[], void> | undefined;

  /** @param damaged is told of what was removed */
  constructor(store: QueueStore, damaged: (found: DamagedDeletion) => void) {
    this.#store = store;
    this.#damaged = damaged;
  }

  run(): number {
    this.#pages ??= this.#store.deletions.damaged();
    const { value: found } = this.#pages.next();
    if (found === undefined) {
      this.#pages = undefined;
      return ROUND_PAUSE_MS;
    }
    if (found.length > 0) {
      this.#store.transaction(() => this.#store.deletions.drop(found));
      found.forEach(this.#damaged);
    }
    return PAGE_PAUSE_MS;
  }
}
