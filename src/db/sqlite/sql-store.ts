/**
 * Stores whose statements are their methods: what a statement is for, what it takes, what it gives and its
 * SQL stand in one place.
 *
 *  /** Mails that wait for a mailbox. *\/
 *  readonly waitingFor = this.sql.number<[mailbox: string]>('SELECT count(*) FROM mail WHERE mailbox = ?');
 */
import type { Db } from '../../lib/sqlite.js';

type Prepared<Bind extends unknown[], Result> = (...bind: Bind) => Result;
type Reader<Row, T> = (row: Row) => T;

/** Makes a function of a statement, which is prepared at once. `Bind` are the arguments of the function: a
 * value for each `?`, or one object for all `$name`. */
export class Sql {
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
  }

  // Changes, inside a transaction

  run<Bind extends unknown[] = []>(sql: string): Prepared<Bind, void> {
    return this.changes(sql);
  }

  /** How many rows were changed. */
  changes<Bind extends unknown[] = []>(sql: string): Prepared<Bind, number> {
    const statement = this.#db.prepare<Bind>(sql);
    return (...bind) => statement.run(...bind).changes;
  }

  /** True if a row was changed. */
  changed<Bind extends unknown[] = []>(sql: string): Prepared<Bind, boolean> {
    const statement = this.#db.prepare<Bind>(sql);
    return (...bind) => statement.run(...bind).changes > 0;
  }

  /** The number that SQLite has given to the row. */
  insert<Bind extends unknown[] = []>(sql: string): Prepared<Bind, number> {
    const statement = this.#db.prepare<Bind>(sql);
    return (...bind) => Number(statement.run(...bind).lastInsertRowid);
  }

  // Reading

  /** The first row, as it is or as a function reads it; undefined: there is none. */
  row<Bind extends unknown[], Row>(sql: string): Prepared<Bind, Row | undefined>;
  row<Bind extends unknown[], Row, T>(sql: string, read: Reader<Row, T>): Prepared<Bind, T | undefined>;
  row<Bind extends unknown[], Row>(sql: string, read?: Reader<Row, unknown>): Prepared<Bind, unknown> {
    const statement = this.#db.prepare<Bind, Row>(sql);
    if (read === undefined) return (...bind) => statement.get(...bind);
    return (...bind) => {
      const row = statement.get(...bind);
      return row === undefined ? undefined : read(row);
    };
  }

  /** The row of a statement that always has one, such as of sums. */
  one<Bind extends unknown[], Row>(sql: string): Prepared<Bind, Row> {
    const statement = this.#db.prepare<Bind, Row>(sql);
    return (...bind) => statement.get(...bind) as Row;
  }

  /** All rows, each as it is or as a function reads it. */
  rows<Bind extends unknown[], Row>(sql: string): Prepared<Bind, Row[]>;
  rows<Bind extends unknown[], Row, T>(sql: string, read: Reader<Row, T>): Prepared<Bind, T[]>;
  rows<Bind extends unknown[], Row>(sql: string, read?: Reader<Row, unknown>): Prepared<Bind, unknown[]> {
    const statement = this.#db.prepare<Bind, Row>(sql);
    if (read === undefined) return (...bind) => statement.all(...bind);
    return (...bind) => statement.all(...bind).map(row => read(row));
  }

  /** The first column of the first row; undefined: there is no row, or it is NULL. */
  value<Bind extends unknown[], T>(sql: string): Prepared<Bind, T | undefined> {
    const statement = this.#db.prepare<Bind, T | null>(sql).pluck();
    return (...bind) => statement.get(...bind) ?? undefined;
  }

  /** The same of a number, such as a count; 0: there is no row, or it is NULL. */
  number<Bind extends unknown[] = []>(sql: string): Prepared<Bind, number> {
    const statement = this.#db.prepare<Bind, number | null>(sql).pluck();
    return (...bind) => statement.get(...bind) ?? 0;
  }

  /** The first column of all rows. */
  values<Bind extends unknown[], T>(sql: string): Prepared<Bind, T[]> {
    const statement = this.#db.prepare<Bind, T>(sql).pluck();
    return (...bind) => statement.all(...bind);
  }

  /** True if there is a row. */
  has<Bind extends unknown[] = []>(sql: string): Prepared<Bind, boolean> {
    const statement = this.#db.prepare<Bind>(sql).pluck();
    return (...bind) => statement.get(...bind) !== undefined;
  }
}

/** A store: its connection, and `sql`, which makes its statements. */
export abstract class SqlStore {
  protected readonly db: Db;
  protected readonly sql: Sql;

  constructor(db: Db) {
    this.db = db;
    this.sql = new Sql(db);
  }
}

/** A store that changes what others have, too, within one transaction. */
export abstract class JointStore<Stores> extends SqlStore {
  protected readonly stores: Stores;

  constructor(db: Db, stores: Stores) {
    super(db);
    this.stores = stores;
  }
}
