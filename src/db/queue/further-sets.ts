/** Sets that no UNS has sent: rows that are put into the queue because of what is held. */
import type { SetClass } from '../../wire/origin.js';
import type { Tally } from '../cache/tally.js';
import { Counter } from '../sqlite/counters.js';
import { JointStore } from '../sqlite/sql-store.js';
import type { QueueInserter } from './insert.js';
import type { QueuedUrl } from './row.js';
import { NOW_SLOT, type QueueReader, type WaitingSet } from './sets.js';

export class FurtherSets extends JointStore<{ queue: QueueReader; tally: Tally; insert: QueueInserter }> {
  readonly #psetids = new Counter(this.db, 'psetid');
  readonly #places = new Counter(this.db, 'pos');

  /**
   * Makes a set that the scheduler sees. Inside a transaction; nothing of the inserter is pending.
   * @param urls do not wait; they have places one after the other @returns undefined: there are none
   */
  make(pid: number, urls: readonly QueuedUrl[], setClass: SetClass): WaitingSet | undefined {
    if (urls.length === 0) return undefined;
    const psetid = this.#psetids.take();
    const firstpos = this.#places.take(urls.length);
    urls.forEach((url, index) => this.stores.insert.add(firstpos + index, pid, psetid, url));
    this.stores.insert.flush();
    this.stores.tally.waiting(pid, urls.length);
    const lastpos = firstpos + urls.length - 1;
    const set = { psetid, slot: NOW_SLOT, pid, firstpos, lastpos, class: setClass };
    this.stores.queue.addSet(set);
    return set;
  }
}
