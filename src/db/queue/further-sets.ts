/** Sets that no UNS has sent: rows that are put into the queue because of what is held. */
import type { SetClass } from '../../wire/origin.js';
import type { Tally } from '../cache/tally.js';
import { Counter } from '../sqlite/counters.js';
import type { Db } from '../sqlite/open.js';
import type { QueueInserter } from './insert.js';
import type { QueuedUrl } from './row.js';
import { NOW_SLOT, type QueueReader, type WaitingSet } from './sets.js';

export class FurtherSets {
  readonly #queue: QueueReader;
  readonly #tally: Tally;
  readonly #insert: QueueInserter;
  readonly #psetids: Counter;
  readonly #places: Counter;

  constructor(db: Db, { queue, tally }: { queue: QueueReader; tally: Tally }, insert: QueueInserter) {
    this.#queue = queue;
    this.#tally = tally;
    this.#insert = insert;
    this.#psetids = new Counter(db, 'psetid');
    this.#places = new Counter(db, 'pos');
  }

  /**
   * Makes a set that the scheduler sees. Inside a transaction; nothing of the inserter is pending.
   * @param urls do not wait; they have places one after the other @returns undefined: there are none
   */
  make(pid: number, urls: readonly QueuedUrl[], setClass: SetClass): WaitingSet | undefined {
    if (urls.length === 0) return undefined;
    const psetid = this.#psetids.take();
    const firstpos = this.#places.take(urls.length);
    urls.forEach((url, index) => this.#insert.add(firstpos + index, pid, psetid, url));
    this.#insert.flush();
    this.#tally.waiting(pid, urls.length);
    const lastpos = firstpos + urls.length - 1;
    const set = { psetid, slot: NOW_SLOT, pid, firstpos, lastpos, class: setClass };
    this.#queue.addSet(set);
    return set;
  }
}
