/**
 * store.db, which one store server writes and others may read. A commit is on disk only after `synced`: the log of the
 * database is synced aside, for SQLite would have every connection wait.
 */
import { closeSync, existsSync, fdatasync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { makeDirectoryDurably, syncDirectory } from '../../lib/durable.js';
import { errnoOf, LccError, messageOf } from '../../lib/errors.js';
import { openForReading } from '../../lib/sqlite-read.js';
import type { Db } from '../../lib/sqlite.js';
import { CHECKPOINT_PAGES, storageError } from '../sqlite/open.js';
import { upgrade, versionOf } from '../sqlite/schema-version.js';
import { openWal } from '../sqlite/wal.js';
import { DocumentStore } from './documents.js';
import { STORE_SCHEMA } from './schema.js';

const STEPS: readonly string[] = [STORE_SCHEMA];
const BUSY_MS = 10_000;
const WAL_KEEP_BYTES = 64 * 1024 * 1024;
const CACHE_KIB = 16 * 1024;
const REMEDY =
  'stop lccstored, move its folder away, start it with a new one, and send it the old files of records in their order';

const syncData = promisify(fdatasync);

export class StoreDatabase {
  readonly path: string;
  readonly documents: DocumentStore;
  readonly #db: Db;
  /** The log, which is there as long as the database is open; undefined: nothing is written. */
  readonly #log: number | undefined;

  /**
   * Opens it for writing, or makes it, with its folder.
   * @throws LccError `config` when a newer LCC wrote it, `data.malformed` when it is damaged, `io`, `io.full`
   */
  static open(path: string): StoreDatabase {
    const isNew = !existsSync(path);
    if (isNew) makeDirectoryDurably(dirname(path), 0o750);
    try {
      const db = openWal(path, { synchronous: 'NORMAL', busyMs: BUSY_MS }, opened => {
        opened.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
        opened.pragma(`journal_size_limit = ${WAL_KEEP_BYTES}`);
        opened.pragma(`cache_size = -${CACHE_KIB}`);
        upgrade(opened, path, STEPS, () => undefined);
      });
      const log = openSync(`${path}-wal`, 'r');
      syncDirectory(dirname(path));
      return new StoreDatabase(path, db, log);
    } catch (error) {
      throw storageError(path, error, REMEDY);
    }
  }

  /** Opens it for reading only. @throws LccError `input.missing` when there is none; as `open` */
  static openForReading(path: string): StoreDatabase {
    if (!existsSync(path))
      throw new LccError('input.missing', `${path}: there is no store here; lccstored makes it`);
    let db: Db | undefined;
    try {
      db = openForReading(path, BUSY_MS);
      if (versionOf(db, path, STEPS) < STEPS.length)
        throw new LccError('config', `${path}: of an older LCC; lccstored upgrades it`);
      return new StoreDatabase(path, db, undefined);
    } catch (error) {
      db?.close();
      throw storageError(path, error, REMEDY);
    }
  }

  private constructor(path: string, db: Db, log: number | undefined) {
    this.path = path;
    this.#db = db;
    this.#log = log;
    this.documents = new DocumentStore(db);
  }

  /** Makes what `change` does, all or nothing; a power cut may take it back until it is `synced`. @throws as `read` */
  write<T>(change: () => T): T {
    return this.#guard(() => this.#db.transaction(change).immediate());
  }

  /** @throws LccError `try.later`, `io.full`, `io`, `data.malformed`; and what `look` throws */
  read<T>(look: () => T): T {
    return this.#guard(() => this.#db.transaction(look).deferred());
  }

  /** Resolves when everything committed before is on disk. When it rejects, the process must end. */
  async synced(): Promise<void> {
    if (this.#log !== undefined) await syncData(this.#log);
  }

  close(): void {
    this.#db.close();
    if (this.#log !== undefined) closeSync(this.#log);
  }

  #guard<T>(action: () => T): T {
    try {
      return action();
    } catch (error) {
      if (errnoOf(error)?.startsWith('SQLITE_BUSY') === true)
        throw new LccError('try.later', `${this.path}: another process writes to it (${messageOf(error)})`, {
          cause: error,
        });
      throw storageError(this.path, error, REMEDY);
    }
  }
}
