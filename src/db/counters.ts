/** Numbers that are given out once: change sequence, places in the queue, set ids. */
import type { Db } from './open.js';

export type CounterName = 'seq' | 'pos' | 'psetid';

export class Counter {
  readonly #take;
  readonly #last;

  constructor(db: Db, name: CounterName) {
    this.#take = db
      .prepare<[number], number>(
        `UPDATE counter SET value = value + ? WHERE name = '${name}' RETURNING value`,
      )
      .pluck();
    this.#last = db.prepare<[], number>(`SELECT value FROM counter WHERE name = '${name}'`).pluck();
  }

  /** The number taken last. */
  last(): number {
    return this.#last.get() ?? 0;
  }

  /** Takes `count` numbers in a row and returns the first. Inside a transaction: a rollback gives them back. */
  take(count = 1): number {
    return (this.#take.get(count) ?? 0) - count + 1;
  }
}
