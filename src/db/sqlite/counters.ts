/** Numbers that are given out once: change sequence, places in the queue, set ids. */
import { corrupt, isInteger } from './row-checks.js';
import type { Db } from '../../lib/sqlite.js';
import { Sql } from './sql-store.js';

type CounterName = 'seq' | 'pos' | 'psetid';

/** The highest number given out of each, as far as the tables tell: a few look-ups. */
const GIVEN = {
  // An id is the number of its row's first change; one that damage has raised must not be given out again.
  seq: `max((SELECT coalesce(max(seq), 0) FROM lccurl), (SELECT coalesce(max(id), 0) FROM lccurl), (SELECT coalesce(max(seq), 0) FROM tombstone),
    (SELECT coalesce(max(seq), 0) FROM oldpath),
    (SELECT coalesce(max(syncedseq), 0) FROM store))`,
  pos: `max((SELECT coalesce(max(pos), 0) FROM qdb), (SELECT coalesce(max(lastpos), 0) FROM absorbed))`,
  psetid: `max((SELECT coalesce(max(psetid), 0) FROM absorbed), (SELECT coalesce(max(psetid), 0) FROM qpsdb))`,
} as const satisfies Record<CounterName, string>;

/**
 * Raises counters that are lower than the last number given out.
 * @returns those that were @throws as SQLite for damage, where nothing can be counted on from a number
 */
export function raiseCounters(db: Db): CounterName[] {
  for (const name of Object.keys(GIVEN) as CounterName[])
    if (!isInteger(lastGiven(db, name))) throw corrupt(`counter ${name} is ${lastGiven(db, name)}`);
  return (Object.keys(GIVEN) as CounterName[]).filter(name =>
    new Sql(db).changed(
      `INSERT INTO counter VALUES ('${name}', ${GIVEN[name]})
       ON CONFLICT(name) DO UPDATE SET value = excluded.value WHERE value < excluded.value`,
    )(),
  );
}

/** The last number given out, though the counter may be lower. */
export function lastGiven(db: Db, name: CounterName): number {
  const last = `SELECT max(coalesce((SELECT value FROM counter WHERE name = '${name}'), 0), ${GIVEN[name]})`;
  return Number(db.prepare(last).pluck().get());
}

/** The number of the change sequence before which cursors begin again: the highest of a deletion that was
 * forgotten. Where it cannot be read, of all changes. */
export function purgedOf(db: Db): number {
  return Number(db.prepare("SELECT value FROM counter WHERE name = 'purged'").pluck().get() ?? Infinity);
}

/** Inside a transaction. */
export function setPurged(db: Db, seq: number): void {
  db.prepare("UPDATE counter SET value = ? WHERE name = 'purged'").run(seq);
}

export class Counter {
  readonly #updateValue;
  readonly #selectValue;

  constructor(db: Db, name: CounterName) {
    // Read and written apart: RETURNING would make a table of its own each time, for ten times as long.
    this.#updateValue = db.prepare<[number]>(`UPDATE counter SET value = ? WHERE name = '${name}'`);
    this.#selectValue = db.prepare<[], number>(`SELECT value FROM counter WHERE name = '${name}'`).pluck();
  }

  /** The number taken last. */
  last(): number {
    return this.#selectValue.get() ?? 0;
  }

  /**
   * Takes `count` numbers in a row and returns the first. Inside a transaction: a rollback gives them back.
   */
  take(count = 1): number {
    const last = this.last();
    this.#updateValue.run(last + count);
    return last + 1;
  }
}
