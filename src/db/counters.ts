/** Numbers that are given out once: change sequence, places in the queue, set ids. */
import type { Db } from './open.js';

export type CounterName = 'seq' | 'pos' | 'psetid';

/** What has been given out of each, as far as the tables tell: a few look-ups. */
const GIVEN = {
  seq: `max((SELECT coalesce(max(seq), 0) FROM lccurl), (SELECT coalesce(max(seq), 0) FROM tombstone),
    (SELECT coalesce(max(seq), 0) FROM oldpath),
    (SELECT coalesce(max(syncedseq), 0) FROM store))`,
  pos: `max((SELECT coalesce(max(pos), 0) FROM qdb), (SELECT coalesce(max(lastpos), 0) FROM absorbed))`,
  psetid: `max((SELECT coalesce(max(psetid), 0) FROM absorbed), (SELECT coalesce(max(psetid), 0) FROM qpsdb))`,
} as const satisfies Record<CounterName, string>;

/** Puts counters that are behind what was given out where they belong. @returns those that were */
export function raiseCounters(db: Db): CounterName[] {
  return (Object.keys(GIVEN) as CounterName[]).filter(
    name =>
      db
        .prepare(
          `INSERT INTO counter VALUES ('${name}', ${GIVEN[name]})
           ON CONFLICT(name) DO UPDATE SET value = excluded.value WHERE value < excluded.value`,
        )
        .run().changes > 0,
  );
}

/** The last number given out, though the counter may be behind it. */
export function lastGiven(db: Db, name: CounterName): number {
  const last = `SELECT max(coalesce((SELECT value FROM counter WHERE name = '${name}'), 0), ${GIVEN[name]})`;
  return Number(db.prepare(last).pluck().get());
}

/**
 * The number of the change sequence before which cursors begin anew: the highest of a deletion that was forgotten, or was
 * given out when one was lost. It stands there twice, the second time with the other sign (`unpurged`).
 * @returns undefined when the two do not agree
 */
export function purgedOf(db: Db): number | undefined {
  const value = db.prepare<[string], number>('SELECT value FROM counter WHERE name = ?').pluck();
  const purged = value.get('purged');
  return purged !== undefined && purged === -(value.get('unpurged') ?? NaN) ? purged : undefined;
}

/** Inside a transaction. */
export function setPurged(db: Db, seq: number): void {
  const set = db.prepare<[string, number]>(
    'INSERT INTO counter VALUES (?, ?) ON CONFLICT(name) DO UPDATE SET value = excluded.value',
  );
  set.run('purged', seq);
  set.run('unpurged', -seq);
}

/** Where that is not known any more, every cursor begins anew. @returns whether that was so */
export function mendPurged(db: Db): boolean {
  if (purgedOf(db) !== undefined) return false;
  setPurged(db, new Counter(db, 'seq').take());
  return true;
}

export class Counter {
  readonly #take;
  readonly #last;

  constructor(db: Db, name: CounterName) {
    // Read and written apart: RETURNING would make a table of its own each time, for ten times as long.
    this.#take = db.prepare<[number]>(`UPDATE counter SET value = ? WHERE name = '${name}'`);
    this.#last = db.prepare<[], number>(`SELECT value FROM counter WHERE name = '${name}'`).pluck();
  }

  /** The number taken last. */
  last(): number {
    return this.#last.get() ?? 0;
  }

  /** Takes `count` numbers in a row and returns the first. Inside a transaction: a rollback gives them back. */
  take(count = 1): number {
    const last = this.last();
    this.#take.run(last + count);
    return last + 1;
  }
}
