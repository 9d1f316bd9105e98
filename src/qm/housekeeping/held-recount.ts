import type { HeldSet, LeftOver } from '../../db/queue/held-removals.js';
import type { QueueStore } from '../../db/queue/store.js';
import type { Clock } from '../../lib/clock.js';
import type { Log } from '../../lib/log.js';
import type { Chore } from '../housekeeping.js';

/** Pause between two rounds: at least this, and `REST` times the work of the round. */
const ROUND_PAUSE_MS = 5000;
const REST = 100;
/** Between two steps, for everything else. */
const PAUSE_MS = 20;
/** Noted deletes looked at in one step. */
const PAGE_ROWS = 500;

export interface HeldRecountOptions {
  store: QueueStore;
  clock: Clock;
  log: Log;
}

/** Counts again what held sets would remove: what was announced again meanwhile would stay. A set of which
 * nothing is left is given up, so that nobody is asked for a decision that decides nothing. */
export class HeldRecount implements Chore {
  readonly #options: HeldRecountOptions;
  #work: { set: HeldSet; steps: Generator<LeftOver, void>; left: LeftOver } | undefined;
  #after = 0;
  #workedMs = 0;

  constructor(options: HeldRecountOptions) {
    this.#options = options;
  }

  run(): number {
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    const work = this.#work ?? this.#next();
    // After a failure the count starts again.
    this.#work = undefined;
    if (work === undefined) {
      const pauseMs = Math.max(ROUND_PAUSE_MS, REST * this.#workedMs);
      this.#after = 0;
      this.#workedMs = 0;
      return pauseMs;
    }
    const { done, value } = work.steps.next();
    if (done === true) {
      this.#counted(work.set, work.left);
      this.#after = work.set.psetid;
    } else {
      work.left.content += value.content;
      work.left.waits ||= value.waits;
      this.#work = work;
    }
    this.#workedMs += clock.monotonicMs() - startedMs;
    return PAUSE_MS;
  }

  #next() {
    const { held, reconciler } = this.#options.store;
    const set = held.next(this.#after);
    if (set === undefined) return undefined;
    const steps = set.isfull === 1 ? reconciler.left(set.pid, set.psetid) : held.left(set, PAGE_ROWS);
    return { set, steps, left: { content: 0, waits: false } };
  }

  #counted({ pid, psetid, urls }: HeldSet, left: LeftOver): void {
    if (left.content === urls && urls > 0) return;
    const { store, log } = this.#options;
    if (!store.transaction(() => store.held.recount(psetid, left))) return;
    log.info('held removals dropped: nothing left to remove', { pid, psetid });
  }
}
