/**
 * rs.db with all its stores, on one connection. lccd-rs and lccrs write it, in short transactions; what a
 * commit promises is on disk (`synchronous=FULL`). A damaged database is refused and not replaced by an empty
 * one, which would give numbers out again.
 */
import { closeSync, openSync } from 'node:fs';
import { LccError, messageOf } from '../../lib/errors.js';
import { openSqlite, type Db } from '../../lib/sqlite.js';
import { MARK_META, type Marked } from '../sqlite/marks.js';
import { madeOf, openOwn, openOwnForReading, OwnDatabase, type OwnKind } from '../sqlite/own-database.js';
import { Sql } from '../sqlite/sql-store.js';
import { AddressStore } from './addresses.js';
import { AuditStore } from './audit.js';
import { FEED_SCHEMA, FeedStore } from './feeds.js';
import { HAND_OVER_SCHEMA, MAIL_SCHEMA, RESET_SCHEMA } from './mail-schema.js';
import { MailStore } from './mails.js';
import { OutboxStore } from './outbox.js';
import { PUSH_SCHEMA, PushStore } from './push.js';
import { PUSH_KEYS_SCHEMA, PushKeyStore } from './push-keys.js';
import { REGISTERED_SCHEMA, RsProviderStore } from './providers.js';
import { RegistrationStore } from './registrations.js';
import { QUIET_SCHEMA, RS_SCHEMA } from './schema.js';
import { SERIES_SCHEMA, SeriesStore } from './series.js';
import { SESSION_SCHEMA, WebSessionStore } from './sessions.js';
import { USES_SCHEMA, UseStore } from './uses.js';

/** How long another process that writes is waited for. */
const BUSY_MS = 2000;
const WAL_KEEP_BYTES = 16 * 1024 * 1024;
const MARKED: Marked = {
  what: 'audit entry',
  servedBy: 'lccd-rs',
  lastOf: db => new Sql(db).number("SELECT seq FROM sqlite_sequence WHERE name = 'audit'")(),
  remedy:
    'put the newer one back, or see what it does not know: lccrs list --differs; no number is given out again',
};
/** How far it has come, for the marks beside it. */
const MARKS_SCHEMA = `${MARK_META} INSERT INTO counter VALUES ('mark', 0);`;
const RS_DB: OwnKind = {
  steps: [
    RS_SCHEMA + REGISTERED_SCHEMA + SESSION_SCHEMA + MAIL_SCHEMA + SERIES_SCHEMA,
    QUIET_SCHEMA,
    RESET_SCHEMA,
    MARKS_SCHEMA,
    HAND_OVER_SCHEMA,
    USES_SCHEMA,
    PUSH_SCHEMA + PUSH_KEYS_SCHEMA,
    FEED_SCHEMA,
  ],
  synchronous: 'FULL',
  // Deleted rows, a mail with its password say, are overwritten.
  pragmas: [`journal_size_limit = ${WAL_KEEP_BYTES}`, 'secure_delete = ON'],
  missing: 'there is none yet; lccd-rs makes it (rs.listen)',
  upgradedBy: 'lccd-rs',
  remedy:
    'stop lccd-rs and put back a backup (lccrs backup makes them), then raise rs.first_pid above every number given since',
  marked: MARKED,
  vanished:
    'put back a backup (lccrs backup makes them), or begin with nothing: remove rs.db.last-*, and raise rs.first_pid above every number given',
};

/** The last version of its schema. */
export const RS_SCHEMA_VERSION = RS_DB.steps.length;

export class RsDatabase extends OwnDatabase {
  readonly registrations = new RegistrationStore(this.db);
  readonly outbox = new OutboxStore(this.db);
  readonly providers = new RsProviderStore(this.db);
  readonly audit = new AuditStore(this.db);
  readonly sessions = new WebSessionStore(this.db);
  readonly mails = new MailStore(this.db);
  readonly addresses = new AddressStore(this.db);
  readonly series = new SeriesStore(this.db);
  readonly uses = new UseStore(this.db);
  readonly push = new PushStore(this.db);
  readonly pushKeys = new PushKeyStore(this.db);
  readonly feeds = new FeedStore(this.db);
  /** In a kept home the keeper empties the log. */
  #isKept = false;
  /** Something was committed by this process. */
  onCommit: () => void = () => undefined;

  /** @throws LccError as openOwn */
  static open(path: string): RsDatabase {
    const db = openOwn(path, RS_DB, BUSY_MS);
    return madeOf(path, RS_DB, db, () => new RsDatabase(path, db));
  }

  /** @throws LccError as openOwnForReading */
  static openForReading(path: string): RsDatabase {
    const db = openOwnForReading(path, RS_DB, BUSY_MS);
    return madeOf(path, RS_DB, db, () => new RsDatabase(path, db));
  }

  private constructor(path: string, db: Db) {
    super(path, RS_DB, db);
  }

  override leaveLog(): void {
    super.leaveLog();
    this.#isKept = true;
  }

  override write<T>(change: () => T): T {
    const result = super.write(change);
    this.onCommit();
    return result;
  }

  /** Without pages that are free again. */
  get usedBytes(): number {
    const value = (name: string) => Number(this.db.pragma(name, { simple: true }));
    return (value('page_count') - value('freelist_count')) * value('page_size');
  }

  /** Empties the write-ahead log, where deleted text is still to be read, unless another process reads just
   * now. @throws as `write` */
  emptyLog(): void {
    // The keeper reads there always, and would be waited for.
    if (!this.#isKept) this.guard(() => this.db.pragma('wal_checkpoint(TRUNCATE)'));
  }

  /** Copies all of it but mails, which have passwords, into a new file, its owner's alone. @throws LccError
   * `output.create`, as `write` */
  copyTo(path: string): void {
    try {
      // SQLite fills an empty file, and would make one that everybody reads.
      closeSync(openSync(path, 'wx', 0o600));
    } catch (error) {
      throw new LccError('output.create', `${path}: ${messageOf(error)}`, { cause: error });
    }
    this.guard(() => {
      this.db.prepare('VACUUM INTO ?').run(path);
      const copy = openSqlite(path);
      try {
        copy.exec('PRAGMA secure_delete = ON; DELETE FROM mail; VACUUM;');
      } finally {
        copy.close();
      }
    });
  }
}
