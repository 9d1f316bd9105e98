/** Numbers that are given out once, and positions of feeds. */
import type { Db } from '../../lib/sqlite.js';

export type ClearCounter = 'publish_seq' | 'last_stamp';
/** A load balancer that answers names with a timestamp. */
export type ClearNote = `names ${string}`;

export class NumberStore {
  readonly #read;
  readonly #write;
  readonly #note;
  readonly #readCursor;
  readonly #writeCursor;

  constructor(db: Db) {
    this.#read = db
      .prepare<[ClearCounter | ClearNote], number>('SELECT value FROM counter WHERE name = ?')
      .pluck();
    this.#write = db.prepare<[number, ClearCounter]>('UPDATE counter SET value = ? WHERE name = ?');
    this.#note = db.prepare<[ClearNote]>('INSERT OR IGNORE INTO counter VALUES (?, 1)');
    this.#readCursor = db.prepare<[string], string>('SELECT value FROM cursor WHERE name = ?').pluck();
    this.#writeCursor = db.prepare<[string, string]>(
      'INSERT INTO cursor VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
    );
  }

  last(name: ClearCounter): number {
    return this.#read.get(name) ?? 0;
  }

  /** The next number. Inside a transaction. */
  next(name: ClearCounter): number {
    return this.raise(name, 0);
  }

  /** The next number that is not below `least`. Inside a transaction. */
  raise(name: ClearCounter, least: number): number {
    const value = Math.max(this.last(name) + 1, least);
    this.#write.run(value, name);
    return value;
  }

  isNoted(note: ClearNote): boolean {
    return this.#read.get(note) !== undefined;
  }

  /** Inside a transaction. */
  note(note: ClearNote): void {
    this.#note.run(note);
  }

  /** Undefined when nothing was ever read of that feed. */
  cursor(name: string): string | undefined {
    return this.#readCursor.get(name);
  }

  /** Inside the transaction that queues what was read. */
  moveCursor(name: string, value: string): void {
    this.#writeCursor.run(name, value);
  }
}
