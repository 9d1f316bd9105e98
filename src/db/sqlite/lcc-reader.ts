/** Reads of a command in lcc.db, on a connection of its own: reports of SQLite say what to do. */
import { openReadOnly, readingError } from './open.js';
import { SqlStore } from './sql-store.js';

export abstract class LccReader extends SqlStore {
  readonly #path: string;

  /** @throws LccError as `openReadOnly` */
  constructor(path: string) {
    super(openReadOnly(path));
    this.#path = path;
  }

  close(): void {
    this.db.close();
  }

  /** The same statement, which throws as `guard`. */
  protected guarded<Bind extends unknown[], Result>(
    ask: (...bind: Bind) => Result,
  ): (...bind: Bind) => Result {
    return (...bind) => this.guard(() => ask(...bind));
  }

  /** @throws LccError as `readingError` */
  protected guard<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      throw readingError(this.#path, error);
    }
  }
}
