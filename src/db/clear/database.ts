/** clear.db with all its stores, on one connection. */
import type { Db } from '../../lib/sqlite.js';
import { madeOf, openOwn, openOwnForReading, OwnDatabase, requireOwn } from '../sqlite/own-database.js';
import { requireSound } from '../sqlite/row-checks.js';
import { BacklogStore } from './backlog.js';
import { JournalStore } from './journal.js';
import { NumberStore } from './numbers.js';
import { CLEAR_KIND, COMMAND_BUSY_MS } from './open.js';
import { RequestStore } from './queue.js';
import { RailStore } from './rails.js';
import { SoftStore } from './soft.js';
import { TargetStore } from './targets.js';

export class ClearDatabase extends OwnDatabase {
  readonly numbers = new NumberStore(this.db);
  readonly targets = new TargetStore(this.db);
  readonly rails = new RailStore(this.db);
  readonly queue = new RequestStore(this.db);
  readonly backlog = new BacklogStore(this.db, this);
  readonly soft = new SoftStore(this.db, this);
  readonly journal = new JournalStore(this.db);

  /** Opens it for writing, or makes it, with its folder. @throws LccError as openOwn */
  static open(path: string, busyMs: number): ClearDatabase {
    return ClearDatabase.#of(path, openOwn(path, CLEAR_KIND, busyMs));
  }

  /** Opens one that is there: an empty one would be of no use. @throws LccError `input.missing` when there is
   * none, as openOwn */
  static openExisting(path: string, busyMs: number): ClearDatabase {
    requireOwn(path, CLEAR_KIND);
    return ClearDatabase.open(path, busyMs);
  }

  /** @throws LccError as openOwnForReading */
  static openForReading(path: string): ClearDatabase {
    return ClearDatabase.#of(path, openOwnForReading(path, CLEAR_KIND, COMMAND_BUSY_MS));
  }

  static #of(path: string, db: Db): ClearDatabase {
    return madeOf(path, CLEAR_KIND, db, () => new ClearDatabase(path, db));
  }

  private constructor(path: string, db: Db) {
    super(path, CLEAR_KIND, db);
  }

  /** Looks at all of the database, which takes a second for some hundred megabytes. @throws LccError
   * `data.malformed` */
  requireSound(): void {
    this.guard(() => requireSound(this.db));
  }
}
