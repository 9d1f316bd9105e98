/** Numbers that are given out once, and positions of feeds. */
import { SqlStore } from '../sqlite/sql-store.js';

type ClearCounter = 'publish_seq' | 'last_stamp';
/** A load balancer that answers names with a timestamp. */
type ClearNote = `names ${string}`;

export class NumberStore extends SqlStore {
  readonly #write = this.sql.run<[value: number, name: ClearCounter]>(
    'UPDATE counter SET value = ? WHERE name = ?',
  );

  readonly last = this.sql.number<[name: ClearCounter]>('SELECT value FROM counter WHERE name = ?');

  /** The next number. Inside a transaction. */
  next(name: ClearCounter): number {
    return this.raise(name, 0);
  }

  /** The next number that is not below `least`. Inside a transaction. */
  raise(name: ClearCounter, least: number): number {
    const value = Math.max(this.last(name) + 1, least);
    this.#write(value, name);
    return value;
  }

  readonly isNoted = this.sql.has<[note: ClearNote]>('SELECT 1 FROM counter WHERE name = ?');

  /** Inside a transaction. */
  readonly note = this.sql.run<[note: ClearNote]>('INSERT OR IGNORE INTO counter VALUES (?, 1)');

  /** Undefined when nothing was ever read of that feed. */
  readonly cursor = this.sql.value<[name: string], string>('SELECT value FROM cursor WHERE name = ?');

  /** Inside the transaction that queues what was read. */
  readonly moveCursor = this.sql.run<[name: string, value: string]>(
    'INSERT INTO cursor VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
  );
}
