/**
 * sessions.db, below the spool directory and shared by all UNSes of a home: numbers of connections, the
 * address of the last one, and up to where a provider has received the errors of its fetches. A UNS cannot
 * write lcc.db; what is kept here reaches it as notes to the Queue Manager, which may be repeated.
 *
 * A damaged one is refused. Where it was moved away numbers go on above those of lcc.db and of the sets in
 * the spools; errors
 * that were received and that the Queue Manager does not know of are shown again. A UNS that has the old one
 * open finds that
 * out at its next write, and ends.
 */
import { closeSync, fdatasync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { syncDirectory } from '../../lib/durable.js';
import { LccError, messageOf } from '../../lib/errors.js';
import { inodeOf } from '../../lib/inode.js';
import { isDamage, storageError, type Db } from '../sqlite/open.js';
import { madeOf, openOwn, openOwnForReading, type OwnKind } from '../sqlite/own-database.js';
import { requireSound } from '../sqlite/row-checks.js';
import { SqlStore } from '../sqlite/sql-store.js';

const SCHEMA = `
CREATE TABLE session(
  pid INTEGER PRIMARY KEY,
  seq INTEGER NOT NULL,                 -- of the last connection
  ip TEXT NOT NULL,                     -- where it came from
  errseen INTEGER NOT NULL DEFAULT 0,   -- every pierr.errseq up to this has been received
  notedseq INTEGER NOT NULL DEFAULT 0,  -- what the QM has confirmed
  notederrseen INTEGER NOT NULL DEFAULT 0
);
-- Which numbers can be compared: those that were given out here.
CREATE TABLE numbering(id TEXT NOT NULL);
INSERT INTO numbering VALUES (lower(hex(randomblob(8))));`;

const BUSY_TIMEOUT_MS = 5000;
const REMEDY =
  'stop lccd-uns and move it away, with its -wal and -shm: a new one is made, and errors that were received may be shown again';
const KIND: OwnKind = {
  steps: [SCHEMA],
  // Commits are synced aside, by `synced`: SQLite would have everybody wait.
  synchronous: 'NORMAL',
  pragmas: [],
  missing: 'there is none yet; lccd-uns makes it',
  upgradedBy: 'lccd-uns',
  remedy: REMEDY,
};

const syncData = promisify(fdatasync);

const UNNOTED = 'SELECT pid, seq, ip, errseen FROM session WHERE (seq > notedseq OR errseen > notederrseen)';

/** A login that has been let in. */
export interface AdmittedLogin {
  pid: number;
  ip: string;
  /** Numbers in lcc.db: numbering goes on from there when it is ahead. */
  known: { seq: number; ip: string };
}

export interface SessionBegun {
  seq: number;
  /** Where the connection before came from, '' when there was none. */
  lastIp: string;
  errseen: number;
}

export interface Unnoted {
  pid: number;
  seq: number;
  ip: string;
  errseen: number;
}

export class SessionStore extends SqlStore {
  /** The same in all that number connections together. */
  readonly numbering = String(this.sql.value('SELECT id FROM numbering')());
  readonly #newest = this.sql.number<[pid: number]>('SELECT seq FROM session WHERE pid = ?');
  readonly #raise = this.sql.run<[pid: number, seq: number]>(
    "INSERT INTO session(pid, seq, ip) VALUES (?, ?, '') ON CONFLICT DO UPDATE SET seq = max(seq, excluded.seq)",
  );
  readonly #get = this.sql.row<[pid: number], Unnoted>(
    'SELECT pid, seq, ip, errseen FROM session WHERE pid = ?',
  );
  readonly #put = this.sql.run<[pid: number, seq: number, ip: string]>(
    'INSERT INTO session(pid, seq, ip) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET seq = excluded.seq, ip = excluded.ip',
  );
  readonly #seen = this.sql.run<[errseen: number, pid: number]>(
    'UPDATE session SET errseen = max(errseen, ?) WHERE pid = ?',
  );
  readonly #noted = this.sql.run<[seq: number, errseen: number, pid: number]>(
    'UPDATE session SET notedseq = max(notedseq, ?), notederrseen = max(notederrseen, ?) WHERE pid = ?',
  );
  readonly #unnoted = this.sql.rows<[limit: number], Unnoted>(`${UNNOTED} ORDER BY pid LIMIT ?`);
  readonly #unnotedOf = this.sql.row<[pid: number], Unnoted>(`${UNNOTED} AND pid = ?`);
  readonly #path: string;
  readonly #inode: bigint | undefined;
  readonly #fail: (error: unknown) => void;
  /**
   * The log of the database, which is there as long as somebody has that open. No locks are lost when it is
   * closed.
   */
  readonly #log: number;
  /** Confirmations not yet written: they ride on the next transaction, for losing one only repeats a note. */
  readonly #confirmed = new Map<number, { seq: number; errseen: number }>();
  /** Errors that were reported to CPs here and not confirmed since; at most one for each provider. A rollback
   * may leave some that never were. */
  readonly #told = new Map<number, { seq: number; errseen: number }>();

  /**
   * Opens or makes the database.
   * @param owner whose process must end when the database is found damaged later, or is not the one that
   * others use any more
   * @throws LccError `data.malformed` when it is damaged, and as openOwn
   */
  constructor(path: string, owner?: { fail: (error: unknown) => void }) {
    super(openSound(path));
    this.#path = path;
    this.#inode = inodeOf(path);
    this.#fail = owner?.fail ?? (() => undefined);
    this.#log = openSync(`${path}-wal`, 'r');
    syncDirectory(dirname(path));
  }

  /** Makes what `change` does, all or nothing; a power cut may take it back until it is `synced`. */
  commit<T>(action: () => T): T {
    const change = this.db.transaction(() => {
      for (const [pid, { seq, errseen }] of this.#confirmed) this.#noted(seq, errseen, pid);
      return action();
    });
    const result = this.#guard(() => {
      if (inodeOf(this.#path) === this.#inode) return change.immediate();
      throw this.#ended(
        new LccError('try.later', `${this.#path}: another file took its place; this process restarts`),
      );
    });
    this.#confirmed.clear();
    return result;
  }

  /**
   * Resolves when everything committed before, by any UNS, is on disk: in the log, or moved from there into
   * the database, which SQLite syncs before it begins the log again. When it rejects, numbers may be given
   * twice: the process must end.
   */
  async synced(): Promise<void> {
    await syncData(this.#log);
  }

  /** Numbers a connection. Inside a commit. */
  number({ pid, ip, known }: AdmittedLogin): SessionBegun {
    const ours = this.#get(pid) ?? { seq: 0, ip: '', errseen: 0 };
    const seq = Math.max(known.seq, ours.seq);
    // A number that was only raised is of no connection here.
    const lastIp = known.seq > ours.seq || ours.ip === '' ? known.ip : ours.ip;
    this.#put(pid, seq + 1, ip);
    this.#told.set(pid, { seq: seq + 1, errseen: ours.errseen });
    return { seq: seq + 1, lastIp, errseen: ours.errseen };
  }

  /** The last connection of a provider, without a new one. */
  last(pid: number): SessionBegun {
    const row = this.#get(pid);
    return { seq: row?.seq ?? 0, lastIp: row?.ip ?? '', errseen: row?.errseen ?? 0 };
  }

  /** The provider's newest connection, to whichever UNS; 0 = none. @throws LccError `data.malformed`, `io` */
  newest(pid: number): number {
    try {
      return this.#guard(() => this.#newest(pid));
    } catch (error) {
      if (error instanceof LccError) throw error;
      throw new LccError('io', `${this.#path}: ${messageOf(error)}`, { cause: error });
    }
  }

  /** Numbers go on above those that accepted sets name, by provider: a power cut may have taken some that
   * were given out and told nobody. */
  raise(named: ReadonlyMap<number, number>): void {
    if (named.size === 0) return;
    this.commit(() => named.forEach((seq, pid) => this.#raise(pid, seq)));
  }

  /** The provider has received its errors up to `errseen`. Inside a commit. */
  received(pid: number, errseen: number): void {
    this.#seen(errseen, pid);
    const told = this.#told.get(pid);
    this.#told.set(pid, { seq: told?.seq ?? 0, errseen: Math.max(errseen, told?.errseen ?? 0) });
  }

  /** The session of one provider, if it was numbered here and the QM has not confirmed it. */
  unnotedOf(pid: number): Unnoted | undefined {
    // Most sessions bring a set, which tells the QM of them.
    if (!this.#told.has(pid)) return undefined;
    const row = this.#unnotedOf(pid);
    return row !== undefined && this.#isUnconfirmed(row) ? row : undefined;
  }

  /** Sessions the QM has not confirmed, at most `limit`. */
  unnoted(limit: number): Unnoted[] {
    const rows = this.#unnoted(limit + this.#confirmed.size);
    return rows.filter(row => this.#isUnconfirmed(row)).slice(0, limit);
  }

  #isUnconfirmed({ pid, seq, errseen }: Unnoted): boolean {
    const confirmed = this.#confirmed.get(pid);
    return confirmed === undefined || seq > confirmed.seq || errseen > confirmed.errseen;
  }

  /** The QM has confirmed a session. Written with the next transaction. */
  confirm(pid: number, seq: number, errseen: number): void {
    const before = this.#confirmed.get(pid);
    this.#confirmed.set(pid, {
      seq: Math.max(seq, before?.seq ?? 0),
      errseen: Math.max(errseen, before?.errseen ?? 0),
    });
    const told = this.#told.get(pid);
    if (told !== undefined && seq >= told.seq && errseen >= told.errseen) this.#told.delete(pid);
    if (this.#confirmed.size > 1000) this.commit(() => undefined);
  }

  close(): void {
    if (this.#confirmed.size > 0) this.commit(() => undefined);
    closeSync(this.#log);
    this.db.close();
  }

  /** @throws LccError `data.malformed` for damage, `io.full`, `io`; all else as it is */
  #guard<T>(action: () => T): T {
    try {
      return action();
    } catch (error) {
      if (!isDamage(error)) throw error;
      throw this.#ended(storageError(this.#path, error, REMEDY));
    }
  }

  #ended(error: unknown): unknown {
    this.#fail(error);
    return error;
  }
}

/** Looks at all of it before anything is read, for damage of any page is told in the same words. */
function openSound(path: string): Db {
  return madeOf(path, KIND, openOwn(path, KIND, BUSY_TIMEOUT_MS), db => {
    requireSound(db);
    return db;
  });
}

/**
 * Looks at one without changing anything, also while others use it; an empty one is made again by the next
 * lccd-uns.
 * @throws LccError `data.malformed` with what to do when it is damaged, and as openOwnForReading
 */
export function checkSessions(path: string): void {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) return;
  const db = openOwnForReading(path, KIND, BUSY_TIMEOUT_MS);
  madeOf(path, KIND, db, requireSound);
  db.close();
}
