/** One database in memory for thousands of short histories: emptied, not created again, its statements prepared once. */
import { openDatabase, type Db, type Statement } from '../../src/db/sqlite/open.js';

const RESET = 'UPDATE counter SET value = 0';
const KEPT = new Set(['meta', 'counter', 'sqlite_sequence']);

export class OneDatabase {
  readonly db: Db = openDatabase(':memory:');
  readonly #deletes: Statement[];
  readonly #own = new Map<string, Statement>();
  #prepared: Statement[] = [];

  constructor() {
    const names = this.db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all();
    const emptied = (names as string[]).filter(name => !KEPT.has(name));
    this.#deletes = [...emptied.map(name => `DELETE FROM ${name}`), RESET, 'DELETE FROM sqlite_sequence'].map(
      sql => this.db.prepare(sql),
    );
  }

  empty(): void {
    this.db.transaction(() => {
      this.db.pragma('defer_foreign_keys = ON');
      for (const one of this.#deletes) one.run();
    })();
  }

  /** Runs a statement of the test's own. */
  run(sql: string, ...params: unknown[]): void {
    this.#statement(sql).run(...params);
  }

  /** Reads with a statement of the test's own: rows as arrays. */
  read(sql: string, ...params: unknown[]): unknown[][] {
    return this.#statement(sql)
      .raw()
      .all(...params) as unknown[][];
  }

  #statement(sql: string): Statement {
    let statement = this.#own.get(sql);
    if (statement === undefined) this.#own.set(sql, (statement = this.db.prepare(sql)));
    return statement;
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
