/** What a store server on this machine keeps, read beside it. */
import { join } from 'node:path';
import { StoreDatabase } from '../../db/spider/database.js';
import { RecordFiles } from '../store-server/record-files.js';
import type { StoredDocument } from './stored-result.js';

export class StoredDocuments {
  readonly #dir: string;
  readonly #files: RecordFiles;
  #db: StoreDatabase | undefined;

  /** @param dir the folder of lccstored */
  constructor(dir: string) {
    this.#dir = dir;
    this.#files = new RecordFiles(dir);
  }

  /**
   * What is known of a document now; undefined: nothing.
   * @throws LccError `input.missing` when there is no store, and as `StoreDatabase.read`
   */
  find(docId: number): StoredDocument | undefined {
    try {
      const db = (this.#db ??= StoreDatabase.openForReading(join(this.#dir, 'store.db')));
      return db.read(() => this.#look(db, docId));
    } catch (error) {
      // It may be another one by the next time.
      this.close();
      throw error;
    }
  }

  close(): void {
    this.#db?.close();
    this.#db = undefined;
  }

  #look({ documents }: StoreDatabase, docId: number): StoredDocument | undefined {
    const row = documents.get(docId);
    if (row === undefined) return undefined;
    const { held } = row;
    const file = held?.file == null ? undefined : documents.file(held.file);
    return {
      url: row.url,
      newUrl: row.newUrl,
      isSuccess: row.success === 1,
      reason: row.reason,
      http: row.http,
      durationMs: row.durationMs,
      md5: held?.md5 ?? '',
      content: () =>
        held === undefined || file === undefined ? new Uint8Array() : this.#files.documentOf(file, held),
    };
  }
}
