/** Damaged rows that are removed: told, and counted since the start. Nobody else may ever meet some of them. */
import type { QueueStore } from '../../db/queue/store.js';
import type { Log } from '../../lib/log.js';
import { lookingThrough, type Looking } from './sums.js';

export class DamagedRows {
  readonly #log: Log;
  #count = 0;

  constructor(log: Log) {
    this.#log = log;
  }

  get count(): number {
    return this.#count;
  }

  /** One of the queue or of content, whoever met it. */
  found(pid: number, what: string): void {
    this.#count++;
    this.#log.error('a damaged row is removed; its provider is asked for a full set', { pid, what });
  }

  /** What is looked through for them. */
  kinds(store: QueueStore): Looking[] {
    const { content, deletions, errors } = store;
    return [
      lookingThrough(
        () => deletions.damaged(),
        found => {
          store.transaction(() => deletions.drop(found));
          this.#count += found.length;
          this.#log.error('damaged deletions are removed; content users with cursors begin anew', {
            rows: found.map(({ table, seq }) => `${table} ${seq}`).join(', '),
          });
        },
      ),
      lookingThrough(
        () => errors.damaged(),
        found => {
          store.transaction(() => errors.drop(found));
          this.#count += found.length;
          this.#log.error('damaged errors of urls are removed', {
            pids: found.map(({ pid }) => pid).join(', '),
          });
        },
      ),
      lookingThrough(
        () => content.damaged(),
        found => store.transaction(() => found.forEach(({ id }) => content.discard(id))),
      ),
    ];
  }
}
