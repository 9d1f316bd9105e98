/** SQLite: the one of two versions of better-sqlite3 that runs on this Node (docs/design/sqlite.md). A
 * process never loads both: two libraries in it would take each other's locks away. */
import type Database from 'better-sqlite3';
import { accessSync, constants } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { AS_ITS_USER, errnoOf, LccError, messageOf } from './errors.js';

export type Db = Database.Database;
export type Statement<Bind extends unknown[] = unknown[], Row = unknown> = Database.Statement<Bind, Row>;
type SqliteOptions = Database.Options;

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
 * Loads what the first database of a process loads. For those that open theirs late: should Node find no
 * descriptor for it then, it takes the file for missing, for ever.
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

/** The hindrance to the use of a database file, with its name, which SQLite does not say, and what to do:
 * others write to it, or it cannot be opened. Undefined for any other error. */
export function hindranceOf(path: string, error: unknown): LccError | undefined {
  const code = errnoOf(error) ?? '';
  const message = `${path}: ${messageOf(error)}`;
  if (/^SQLITE_(BUSY|LOCKED)/.test(code))
    return new LccError('try.later', `${message}: another process writes to it for long; run again`, {
      cause: error,
    });
  if (!/^SQLITE_(CANTOPEN|READONLY|PERM|AUTH)/.test(code)) return undefined;
  const refusal = refusalOf(path);
  if (refusal === 'EACCES')
    return new LccError('input.missing', `${path}: permission denied; ${AS_ITS_USER}`, { cause: error });
  const remedy =
    refusal === 'EROFS'
      ? 'its disk is read-only: mount it for writing'
      : 'see that its folder is there, and that its disk can be written to';
  return new LccError('output.create', `${message}; ${remedy}`, { cause: error });
}

/** The errno with which this user is kept from writing the file, or the folder where SQLite keeps what
 * belongs to it. */
function refusalOf(path: string): string | undefined {
  for (const [file, mode] of [
    [path, constants.R_OK | constants.W_OK],
    [`${dirname(path)}/.`, constants.W_OK],
  ] as const)
    try {
      accessSync(file, mode);
    } catch (error) {
      const code = errnoOf(error);
      if (code === 'EACCES' || code === 'EROFS') return code;
    }
  return undefined;
}
