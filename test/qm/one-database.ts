/** One database in memory for thousands of short histories: emptied, not made anew, its statements prepared once. */
import { openDatabase, type Db, type Statement } from '../../src/db/open.js';

const KEPT = new Set(['meta', 'counter', 'sqlite_sequence']);

export class OneDatabase {
  readonly db: Db = openDatabase(':memory:');
  readonly #tables: string[];
  #prepared: Statement[] = [];

  constructor() {
    const names = this.db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all();
    this.#tables = (names as string[]).filter(name => !KEPT.has(name));
  }

  empty(): void {
    this.db.exec('BEGIN');
    this.db.pragma('defer_foreign_keys = ON');
    for (const name of this.#tables) this.db.exec(`DELETE FROM ${name}`);
    this.db.exec('UPDATE counter SET value = 0; DELETE FROM sqlite_sequence; COMMIT');
  }

  /**
   * The database as a process that has just opened it sees it. The same program prepares the same statements in the
   * same order: they are handed out again.
   */
  opened(): Db {
    let next = 0;
    const prepare = (sql: string): Statement => {
      const at = next++;
      const known = this.#prepared[at];
      if (known?.source === sql) return known;
      return (this.#prepared[at] = this.db.prepare(sql));
    };
    return Object.create(this.db, { prepare: { value: prepare } }) as Db;
  }
}
