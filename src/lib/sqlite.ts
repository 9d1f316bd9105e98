/**
 * SQLite: the one of two versions of better-sqlite3 that runs on this Node (docs/design/sqlite.md). A process never loads
 * both: two libraries in it would take each other's locks away.
 */
import type Database from 'better-sqlite3';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { LccError, messageOf } from './errors.js';

export type Db = Database.Database;
export type Statement<Bind extends unknown[] = unknown[], Row = unknown> = Database.Statement<Bind, Row>;
export type SqliteOptions = Database.Options;

/** The Node-API of version 13, which Node has from 22.14 on: on one that has less, loading it is a crash. */
const NODE_API = 10;
/** Packages by name; the second is an alias of package.json. */
const V12 = 'better-sqlite3';
const V13 = 'better-sqlite3-13';

let loaded: typeof Database | undefined;

/**
 * @param path a file, `:memory:`, or '' for a temporary file
 * @throws what SQLite throws; LccError as loadSqlite
 */
export function openSqlite(path: string, options?: SqliteOptions): Db {
  return new (loadSqlite())(path, options);
}

/**
 * Loads what the first database of a process loads. For those that open theirs late: should Node find no descriptor for
 * it then, it takes the file for missing, for ever.
 * @throws LccError `config` when the package is missing, or has nothing for this machine
 */
export function loadSqlite(): typeof Database {
  if (loaded !== undefined) return loaded;
  const name = Number(process.versions.napi) >= NODE_API ? V13 : V12;
  try {
    const require = createRequire(join(import.meta.dirname, 'sqlite.js'));
    const Sqlite = require(name) as typeof Database;
    new Sqlite(':memory:').close();
    return (loaded = Sqlite);
  } catch (error) {
    const remedy =
      name === V13
        ? `npm ci --ignore-scripts installs it; where it has nothing for this machine: npm explore ${V13} -- npm run build-release`
        : 'with a C++ toolchain, make and python3 npm ci builds it';
    throw new LccError(
      'config',
      `${name} for Node ${process.version} cannot be loaded (${messageOf(error).slice(0, 200)}); ${remedy}`,
      { cause: error },
    );
  }
}
