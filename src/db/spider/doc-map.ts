/**
 * The numbers of documents of a URL server that has its urls from a Queue Manager: a url has one, and keeps it, so that a store
 * server keeps one document of each. A power cut may take the last ones back; then a number may become another url's, and
 * what the store has under it shows by its url.
 */
import { dirname } from 'node:path';
import { makeDirectoryDurably } from '../../lib/durable.js';
import { LccError } from '../../lib/errors.js';
import type { Db } from '../../lib/sqlite.js';
import { storageError } from '../sqlite/open.js';
import { upgrade } from '../sqlite/schema-version.js';
import { SqlStore } from '../sqlite/sql-store.js';
import { openWal } from '../sqlite/wal.js';

const STEPS = [
  `CREATE TABLE doc_map(
    doc_id INTEGER PRIMARY KEY CHECK (doc_id > 0),
    urlkey TEXT NOT NULL UNIQUE
  ) STRICT;`,
];
const MAX_DOC_ID = 0xffff_ffff;
const BUSY_MS = 10_000;
const REMEDY = 'stop lccurld and move the file away; urls get new numbers';

export class DocMap extends SqlStore {
  readonly #find = this.sql.value<[urlkey: string], number>('SELECT doc_id FROM doc_map WHERE urlkey = ?');
  readonly #add = this.sql.insert<[urlkey: string]>('INSERT INTO doc_map(urlkey) VALUES (?)');
  readonly #path: string;

  /** Opens it, or makes it with its folder. @throws LccError `config`, `data.malformed`, `io`, `io.full` */
  constructor(path: string) {
    super(opened(path));
    this.#path = path;
  }

  /** The numbers of urls, in their order; those without one get it. @throws LccError `limit` when all numbers are used up */
  idsOf(urls: readonly string[]): number[] {
    try {
      return this.db.transaction(() => urls.map(url => this.#idOf(url))).immediate();
    } catch (error) {
      throw storageError(this.#path, error, REMEDY);
    }
  }

  close(): void {
    this.db.close();
  }

  #idOf(url: string): number {
    const known = this.#find(url);
    if (known !== undefined) return known;
    const id = this.#add(url);
    if (id <= MAX_DOC_ID) return id;
    throw new LccError('limit', `${this.#path}: all of ${MAX_DOC_ID} numbers are used up; ${REMEDY}`);
  }
}

function opened(path: string): Db {
  try {
    makeDirectoryDurably(dirname(path), 0o750);
    return openWal(path, { synchronous: 'NORMAL', busyMs: BUSY_MS }, db =>
      upgrade(db, path, STEPS, () => undefined),
    );
  } catch (error) {
    throw storageError(path, error, REMEDY);
  }
}
