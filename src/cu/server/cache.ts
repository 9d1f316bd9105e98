/** The database of all sessions: one connection, whose snapshots nobody holds while they wait. */
import { statSync } from 'node:fs';
import { CacheReader } from '../../db/cache/read.js';
import { loadSqlite } from '../../lib/sqlite.js';
import { Refusal } from '../../wire/refusal.js';

export class SharedCache {
  readonly #path: string;
  readonly #machineId: string;
  #reader: CacheReader | undefined;
  #file = '';

  constructor(path: string, machineId: string) {
    this.#path = path;
    this.#machineId = machineId;
    loadSqlite();
  }

  /**
   * The reader, at rest; another one when the file is another since (a damaged one was set aside).
   * @throws LccError as CacheReader
   */
  reader(): CacheReader {
    const file = fileOf(this.#path);
    if (this.#reader === undefined || file !== this.#file || this.#reader.isOutdated) {
      this.close();
      this.#reader = new CacheReader(this.#path, this.#machineId);
      this.#reader.rest();
      this.#file = file;
    }
    return this.#reader;
  }

  /** The error that a reading stands for which has failed: its reader was closed where somebody was given one
   * of a database that took its place. */
  errorOf(reader: CacheReader, error: unknown): unknown {
    if (this.#reader === reader) return error;
    // A client finds out by asking what its cursor is worth there.
    return new Refusal(102, 'the database was replaced, try again');
  }

  close(): void {
    this.#reader?.close();
    this.#reader = undefined;
  }
}

function fileOf(path: string): string {
  try {
    const { dev, ino } = statSync(path);
    return `${dev} ${ino}`;
  } catch {
    return '';
  }
}
