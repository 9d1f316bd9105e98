/** store.db, which one store server writes and others may read. A commit is on disk only after `synced`: the
 * log of the database is synced aside, for SQLite would have every connection wait. */
import { closeSync, fdatasync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { syncDirectory } from '../../lib/durable.js';
import type { Db } from '../../lib/sqlite.js';
import { MARK_SCHEMA, type Marked } from '../sqlite/marks.js';
import { CHECKPOINT_PAGES } from '../sqlite/open.js';
import { madeOf, openOwn, openOwnForReading, OwnDatabase, type OwnKind } from '../sqlite/own-database.js';
import { DocumentStore } from './documents.js';
import { STORE_SCHEMA } from './schema.js';

const BUSY_MS = 10_000;
const WAL_KEEP_BYTES = 64 * 1024 * 1024;
const CACHE_KIB = 16 * 1024;
const MARKED: Marked = {
  what: 'file',
  servedBy: 'lccstored',
  lastOf: db => Number(db.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'file'").pluck().get() ?? 0),
  remedy:
    'documents are read back from the files it does not know; failures and empty documents that came since are forgotten',
};
const STORE_DB: OwnKind = {
  steps: [STORE_SCHEMA, MARK_SCHEMA],
  synchronous: 'NORMAL',
  pragmas: [
    `wal_autocheckpoint = ${CHECKPOINT_PAGES}`,
    `journal_size_limit = ${WAL_KEEP_BYTES}`,
    `cache_size = -${CACHE_KIB}`,
  ],
  missing: 'there is no store here; lccstored makes it',
  upgradedBy: 'lccstored',
  remedy:
    'stop lccstored, move store.db and store.db-wal away and start it: it reads all documents back from their files',
  marked: MARKED,
};

const syncData = promisify(fdatasync);

export class StoreDatabase extends OwnDatabase {
  readonly documents = new DocumentStore(this.db);
  /** The log, which is there as long as the database is open; undefined: nothing is written. */
  readonly #log: number | undefined;

  /** Opens it for writing, or makes it, with its folder. @throws LccError as openOwn */
  static open(path: string): StoreDatabase {
    const db = openOwn(path, STORE_DB, BUSY_MS);
    return madeOf(path, STORE_DB, db, () => {
      const log = openSync(`${path}-wal`, 'r');
      syncDirectory(dirname(path));
      return new StoreDatabase(path, db, log);
    });
  }

  /** Opens it for reading only. @throws LccError as openOwnForReading */
  static openForReading(path: string): StoreDatabase {
    const db = openOwnForReading(path, STORE_DB, BUSY_MS);
    return madeOf(path, STORE_DB, db, () => new StoreDatabase(path, db, undefined));
  }

  private constructor(path: string, db: Db, log: number | undefined) {
    super(path, STORE_DB, db);
    this.#log = log;
  }

  /** Resolves when everything committed before is on disk. When it rejects, the process must end. */
  async synced(): Promise<void> {
    if (this.#log !== undefined) await syncData(this.#log);
  }

  override close(): void {
    super.close();
    if (this.#log !== undefined) closeSync(this.#log);
  }
}
