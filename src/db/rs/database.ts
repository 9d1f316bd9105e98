/** rs.db with all its stores, on one connection. */
import type { Db } from '../../lib/sqlite.js';
import { AuditStore } from './audit.js';
import { openRsDb, openRsDbForReading, rsDbError } from './open.js';
import { OutboxStore } from './outbox.js';
import { RegistrationStore } from './registrations.js';

export class RsDatabase {
  readonly path: string;
  readonly registrations: RegistrationStore;
  readonly outbox: OutboxStore;
  readonly audit: AuditStore;
  readonly #db: Db;

  /** @throws LccError as openRsDb */
  static open(path: string): RsDatabase {
    return new RsDatabase(path, openRsDb(path));
  }

  /** @throws LccError as openRsDbForReading */
  static openForReading(path: string): RsDatabase {
    return new RsDatabase(path, openRsDbForReading(path));
  }

  private constructor(path: string, db: Db) {
    this.path = path;
    this.#db = db;
    this.registrations = new RegistrationStore(db);
    this.outbox = new OutboxStore(db);
    this.audit = new AuditStore(db);
  }

  /**
   * Makes what `change` does, all or nothing, and on disk when this returns.
   * @throws LccError `try.later` when others write for too long, `io.full`, `io`, `data.malformed`; and what `change` throws
   */
  write<T>(change: () => T): T {
    return this.#guard(() => this.#db.transaction(change).immediate());
  }

  /** Reads one snapshot. @throws as `write` */
  read<T>(look: () => T): T {
    return this.#guard(() => this.#db.transaction(look).deferred());
  }

  /** Another one after every commit of another process. */
  version(): number {
    return Number(this.#db.pragma('data_version', { simple: true }));
  }

  /** Copies all of it, as it is now, into a new file. @throws LccError as `write` */
  copyTo(path: string): void {
    this.#guard(() => this.#db.prepare('VACUUM INTO ?').run(path));
  }

  close(): void {
    this.#db.close();
  }

  #guard<T>(action: () => T): T {
    try {
      return action();
    } catch (error) {
      throw rsDbError(this.path, error);
    }
  }
}
