/**
 * A parcel: a file with all rows of one provider, in tables of the names that they have in lcc.db. It is
 * made of a copy of that, aside, and may be made again; so nothing of it is synced.
 */
import { rmSync } from 'node:fs';
import { LccError } from '../../lib/errors.js';
import { openSqlite, type Db } from '../../lib/sqlite.js';
import { SqlStore } from '../sqlite/sql-store.js';
import { CARRIED, type Carried } from './carried.js';

/** Columns of a table that have values of their own, in their order. */
export function columnsOf(db: Db, schema: 'main' | 'home', table: string): string[] {
  const columns = db.pragma(`${schema}.table_xinfo(${table})`) as { name: string; hidden: number }[];
  return columns.filter(({ hidden }) => hidden === 0).map(({ name }) => name);
}

/**
 * Packs the rows of a provider.
 * @param from a copy of lcc.db of shard `src` that nobody writes
 * @throws LccError `input.missing` when there is no such provider
 */
export function pack(from: string, to: string, { pid, src }: { pid: number; src: number }): void {
  rmSync(to, { force: true });
  const db = openSqlite(to);
  try {
    db.pragma('journal_mode = OFF');
    db.pragma('synchronous = OFF');
    db.prepare('ATTACH ? AS home').run(from);
    const bind = { pid, src: String(src) };
    const fill = (sql: string) => void db.prepare(sql).run(bind);
    // Ranges of places are looked for when sets are named.
    for (const numbered of ['places', 'sets'] as const) {
      db.exec(`CREATE TABLE ${numbered}(n INTEGER PRIMARY KEY, old INTEGER NOT NULL UNIQUE)`);
      const named = CARRIED.flatMap(({ table, where, [numbered]: columns = [] }) =>
        columns.map(column => `SELECT ${column} AS old FROM home.${table} WHERE ${where}`),
      );
      fill(
        `INSERT INTO ${numbered}(old) SELECT old FROM (${named.join(' UNION ')}) WHERE old > 0 ORDER BY old`,
      );
    }
    for (const each of CARRIED) packTable(db, each, fill);
    if (db.prepare('SELECT 1 FROM pidb').get() === undefined)
      throw new LccError('input.missing', `no provider ${pid} in ${from}`);
    db.pragma(`user_version = ${String(db.pragma('home.user_version', { simple: true }))}`);
    db.exec('DETACH home');
  } finally {
    db.close();
  }
}

function packTable(db: Db, carried: Carried, fill: (sql: string) => void): void {
  const { table, where, order, sets = [], places = [], renumbered = [], instead = {} } = carried;
  const numberOf = (numbered: string, column: string) =>
    `iif(${column} > 0, (SELECT n FROM ${numbered} WHERE old = ${column}), ${column})`;
  const columns = columnsOf(db, 'home', table).filter(column => !renumbered.includes(column));
  const values = columns.map(column => {
    const value = sets.includes(column)
      ? numberOf('sets', column)
      : places.includes(column)
        ? numberOf('places', column)
        : (instead[column] ?? column);
    return `${value} AS ${column}`;
  });
  // A rowid is a row's place in the order.
  db.exec(`CREATE TABLE ${table}(${columns.join(', ')})`);
  fill(
    `INSERT INTO main.${table} SELECT ${values.join(', ')} FROM home.${table} WHERE ${where} ORDER BY ${order}`,
  );
}

/** A parcel that is read. */
export class Parcel extends SqlStore {
  readonly version: number;
  readonly pid: number;
  /** How many sets and places its rows name. */
  readonly sets = this.sql.number('SELECT max(n) FROM sets')();
  readonly places = this.sql.number('SELECT max(n) FROM places')();

  constructor(path: string) {
    super(openSqlite(path, { readonly: true }));
    this.version = Number(this.db.pragma('user_version', { simple: true }));
    this.pid = this.sql.number('SELECT pid FROM pidb')();
  }

  columns(table: string): string[] {
    return columnsOf(this.db, 'main', table);
  }

  /** Rows of a table after the first `after`, in their order: values by column. */
  rows(table: string, after: number, limit: number): unknown[][] {
    const read = this.db.prepare<[number, number]>(
      `SELECT * FROM ${table} WHERE rowid > ? ORDER BY rowid LIMIT ?`,
    );
    return read.raw().all(after, limit) as unknown[][];
  }

  close(): void {
    this.db.close();
  }
}
