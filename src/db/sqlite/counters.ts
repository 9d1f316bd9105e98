/** Numbers that are given out once: change sequence, places in the queue, set ids. */
import { beforeFirst, SHARD_NUMBERS } from '../../config/shards.js';
import { LccError } from '../../lib/errors.js';
import type { Db } from '../../lib/sqlite.js';
import { corrupt, isInteger } from './row-checks.js';
import { Sql } from './sql-store.js';

type CounterName = 'seq' | 'pos' | 'psetid';

/** The highest number of a shard given out of each, as far as the tables tell: a few look-ups. */
const GIVEN = {
  // An id is the number of its row's first change, in whichever shard that was; one that damage has raised
  // must not be given out again.
  seq: highest('lccurl.seq', 'lccurl.id', 'tombstone.seq', 'oldpath.seq', 'store.syncedseq'),
  pos: highest('queued.pos', 'absorbed.lastpos'),
  psetid: highest('absorbed.psetid', 'qpsdb.psetid'),
} as const satisfies Record<CounterName, string>;
const NAMES = Object.keys(GIVEN) as CounterName[];

/** SQL of the highest number below `$end`, `$before` where there is none. */
function highest(...columns: readonly string[]): string {
  const looks = columns.map(each => {
    const [table, column] = each.split('.');
    return `(SELECT max(${column}) FROM ${table} WHERE ${column} < $end)`;
  });
  return `max(${looks.map(look => `coalesce(${look}, 0)`).join(', ')}, $before)`;
}

/**
 * Raises counters that are lower than the last number given out; of a home without one, to where its shard
 * begins.
 * @returns those that lacked some
 * @throws as SQLite for damage, where nothing can be counted on from a number; LccError `config` where all
 *   numbers are another shard's
 */
export function raiseCounters(db: Db, shard = 0): CounterName[] {
  const before = shard * SHARD_NUMBERS;
  const low = NAMES.flatMap(name => {
    const value = valueOf(db, name) ?? -1;
    const given = givenOf(db, name, before);
    if (!isInteger(value) || !isInteger(given)) throw corrupt(`counter ${name} is ${value}`);
    const isOwn = value >= before && value < before + SHARD_NUMBERS;
    if (isOwn && value >= given) return [];
    if (!isOwn && value > beforeFirst(value) && given === before)
      throw new LccError(
        'config',
        `cluster.shard = ${shard}, and the numbers of this home are those of shard ${Math.floor(value / SHARD_NUMBERS)}; a home keeps its shard`,
      );
    return [{ name, given }];
  });
  const raise = db.prepare<[CounterName, number]>(
    'INSERT INTO counter VALUES (?, ?) ON CONFLICT(name) DO UPDATE SET value = excluded.value',
  );
  for (const { name, given } of low) raise.run(name, given);
  return low.filter(({ given }) => given > before).map(({ name }) => name);
}

/** The last number given out, though the counter may be lower; of a new home, the one before its first. */
export function lastGiven(db: Db, name: CounterName): number {
  const value = valueOf(db, name) ?? 0;
  return Math.max(value, givenOf(db, name, beforeFirst(value)));
}

function valueOf(db: Db, name: CounterName): number | undefined {
  return new Sql(db).value<[string], number>('SELECT value FROM counter WHERE name = ?')(name);
}

function givenOf(db: Db, name: CounterName, before: number): number {
  const sql = `SELECT ${GIVEN[name]}`;
  const bounds = { before, end: before + SHARD_NUMBERS };
  return Number(new Sql(db).value<[typeof bounds], number>(sql)(bounds));
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
