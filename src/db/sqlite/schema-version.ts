/**
 * Versions of a schema, kept in SQLite's `user_version`. Step 0 makes a new database at version 1; step n
 * brings version n to n + 1. Every change of a schema is a step of its own. A database of a newer LCC is
 * refused, and so is one whose number is known and whose tables are not: before 0.3.0 an LCC from between two
 * releases made such ones.
 */
import { errnoOf, LccError, messageOf } from '../../lib/errors.js';
import { openSqlite, type Db } from '../../lib/sqlite.js';
import { step } from '../../lib/steps.js';

/**
 * Brings a database to the last version. @param made called inside the transaction that makes a new one
 * @param define makes functions of the steps known on a connection
 * @throws as `versionOf`
 */
export function upgrade(
  db: Db,
  path: string,
  steps: readonly string[],
  made: () => void,
  define: (db: Db) => void = () => undefined,
): void {
  define(db);
  if (versionOf(db, path, steps) === steps.length) return requireTables(db, path, steps, define);
  const isUpgraded = db.transaction(() => {
    // Another process may have done so while this one waited for the lock.
    const from = versionOf(db, path, steps);
    for (const sql of steps.slice(from)) {
      try {
        db.exec(sql);
      } catch (error) {
        if (errnoOf(error) !== 'SQLITE_ERROR') throw error;
        throw unreleased(path, messageOf(error));
      }
      if (from > 0) step('db.upgrade.made');
    }
    if (from === 0) made();
    db.pragma(`user_version = ${steps.length}`);
    return from > 0;
  });
  if (isUpgraded.immediate()) step('db.upgrade.committed');
}

/** The version of a database, 0 where nothing is in it. @throws LccError `config` when a newer LCC wrote it;
 * SQLITE_CORRUPT */
export function versionOf(db: Db, path: string, steps: readonly string[]): number {
  const version = Number(db.pragma('user_version', { simple: true }));
  if (version > steps.length)
    throw new LccError(
      'config',
      `${path}: schema ${version} was written by a newer LCC (this one knows ${steps.length}); use that one`,
    );
  if (version < 0)
    throw Object.assign(new Error(`damaged: user_version is ${version}`), { code: 'SQLITE_CORRUPT' });
  return version;
}

/**
 * @throws LccError `config` when a table has other columns than all steps make; SQLITE_CORRUPT where that is
 * damage
 */
function requireTables(db: Db, path: string, steps: readonly string[], define: (db: Db) => void): void {
  const columnsOf = columnsIn(db);
  const wrong = [...tablesOf(steps, define)].find(([table, columns]) => columnsOf(table) !== columns)?.[0];
  if (wrong === undefined) return;
  const found = String(db.pragma('integrity_check(1)', { simple: true }));
  if (found !== 'ok') throw Object.assign(new Error(found), { code: 'SQLITE_CORRUPT' });
  throw unreleased(path, `table ${wrong} has other columns`);
}

/** Steps → tables that they make, each with its columns. Making them takes far longer than looking. */
const madeBy = new WeakMap<readonly string[], ReadonlyMap<string, string>>();

function tablesOf(steps: readonly string[], define: (db: Db) => void): ReadonlyMap<string, string> {
  const known = madeBy.get(steps);
  if (known !== undefined) return known;
  const made = openSqlite(':memory:');
  try {
    define(made);
    for (const sql of steps) made.exec(sql);
    const names = made
      .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
      .pluck()
      .all();
    const columnsOf = columnsIn(made);
    const tables = new Map(names.map(name => [name, columnsOf(name)]));
    madeBy.set(steps, tables);
    return tables;
  } finally {
    made.close();
  }
}

/** Columns of a table, generated ones, too; '' where there is no such table. */
function columnsIn(db: Db): (table: string) => string {
  const names = db.prepare<[string], string>('SELECT name FROM pragma_table_xinfo(?) ORDER BY name').pluck();
  return table => names.all(table).join();
}

function unreleased(path: string, what: string): LccError {
  return new LccError(
    'config',
    `${path}: an LCC from between two releases made it (${what}); use that one, or move it away and begin with a new one`,
  );
}
