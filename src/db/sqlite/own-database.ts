/**
 * A database that a part of the LCC has for itself: clear.db, rs.db, store.db. It is opened, or made with its
 * folder; it is changed in transactions, all or nothing; what SQLite reports of it is an error that says what
 * to do.
 */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeDirectoryDurably, syncDirectory } from '../../lib/durable.js';
import { LccError } from '../../lib/errors.js';
import { openForReading } from '../../lib/sqlite-read.js';
import type { Db } from '../../lib/sqlite.js';
import { Marks, type Marked, type MarksOptions } from './marks.js';
import { storageError } from './open.js';
import { hasVanished, noteChange, wentBack } from './restored.js';
import { upgrade, versionOf } from './schema-version.js';
import { openWal, type WalOptions } from './wal.js';

/** The particulars of one database. */
export interface OwnKind {
  /** Steps of its schema: the first version, then what each later one changes. */
  steps: readonly string[];
  synchronous: WalOptions['synchronous'];
  /** Settings of a connection that writes, such as `cache_size = -16384`. */
  pragmas: readonly string[];
  /** Why there is none, and what makes it. */
  missing: string;
  /** The program that upgrades one of an older LCC. */
  upgradedBy: string;
  /** The advice about a damaged one. */
  remedy: string;
  /** Marks beside it, by which an older copy is noticed. */
  marked?: Marked;
  /** The advice about one that was served and is not there any more, or is empty; left out: a new one is
   * made. */
  vanished?: string;
}

/** @throws LccError `config` for one that was served and is not there any more */
export function refuseVanished(path: string, { marked, vanished }: OwnKind): void {
  if (marked === undefined || vanished === undefined || path === ':memory:') return;
  const what = hasVanished(path, marked);
  if (what !== undefined) throw new LccError('config', `${path}: ${what}; ${vanished}`);
}

/**
 * Opens a database for writing, or makes it, with its folder.
 * @param busyMs how long another process that writes is waited for
 * @throws LccError `config` when a newer LCC wrote it, or one was served that is not there any more,
 * `data.malformed` when it is damaged, `try.later`, `io`, `io.full`
 */
export function openOwn(path: string, kind: OwnKind, busyMs: number): Db {
  refuseVanished(path, kind);
  const isNew = path !== ':memory:' && !existsSync(path);
  if (isNew) makeDirectoryDurably(dirname(path), 0o750);
  try {
    const db = openWal(path, { synchronous: kind.synchronous, busyMs }, opened => {
      upgrade(opened, path, kind.steps, () => undefined);
      for (const pragma of kind.pragmas) opened.pragma(pragma);
    });
    if (isNew) syncDirectory(dirname(path));
    return db;
  } catch (error) {
    throw ownError(path, kind, error);
  }
}

/** @throws LccError `input.missing` when there is no database, `config` as refuseVanished */
export function requireOwn(path: string, kind: OwnKind): void {
  refuseVanished(path, kind);
  if (!existsSync(path)) throw new LccError('input.missing', `${path}: ${kind.missing}`);
}

/** Opens a database for reading only. @throws LccError `input.missing` when there is none, otherwise as
 * openOwn */
export function openOwnForReading(path: string, kind: OwnKind, busyMs: number): Db {
  requireOwn(path, kind);
  let db: Db | undefined;
  try {
    db = openForReading(path, busyMs);
    if (versionOf(db, path, kind.steps) < kind.steps.length)
      throw new LccError('config', `${path}: of an older LCC; ${kind.upgradedBy} upgrades it`);
    return db;
  } catch (error) {
    db?.close();
    throw ownError(path, kind, error);
  }
}

/** SQLite's report of a database, as an LccError where that is known. */
function ownError(path: string, kind: OwnKind, error: unknown): unknown {
  if (error instanceof LccError) return error;
  return storageError(path, error, kind.remedy);
}

/** An open one, on one connection; its stores are those of a subclass. */
export class OwnDatabase {
  readonly path: string;
  protected readonly db: Db;
  readonly #kind: OwnKind;
  /** A daemon notes what is committed. */
  #hasMarks = false;
  #hasWritten = false;

  protected constructor(path: string, kind: OwnKind, db: Db) {
    this.path = path;
    this.#kind = kind;
    this.db = db;
  }

  /**
   * Makes what `change` does, all or nothing, and on disk when this returns, where the kind is synchronous
   * FULL.
   * @throws LccError `try.later` when others write for too long, `io.full`, `io`, `data.malformed`; and what
   * `change` throws
   */
  write<T>(change: () => T): T {
    const result = this.guard(() => this.db.transaction(change).immediate());
    this.#hasWritten = true;
    return result;
  }

  /** Reads one snapshot. @throws as `write` */
  read<T>(look: () => T): T {
    return this.guard(() => this.db.transaction(look).deferred());
  }

  /** The fault of a database that is not the one served last, as it was then or later; undefined: nothing
   * that could be seen. */
  wentBack(): string | undefined {
    const { marked } = this.#kind;
    return marked === undefined ? undefined : this.guard(() => wentBack(this.db, this.path, marked));
  }

  /** The marks beside it, for the daemon that writes them. @throws Error for a kind without marks */
  newMarks({ failed, ...options }: Omit<MarksOptions, 'kind'>): Marks {
    const kind = this.#kind;
    if (kind.marked === undefined) throw new Error(`${this.path}: a kind of database without marks`);
    this.#hasMarks = true;
    const mapped = (error: unknown) => failed(ownError(this.path, kind, error));
    return new Marks(this.db, this.path, { ...options, kind: kind.marked, failed: mapped });
  }

  /** The log is left to the keeper of a kept home, which moves it once the engine has its pages. */
  leaveLog(): void {
    this.db.pragma('wal_autocheckpoint = 0');
  }

  /** Another one after every commit of another process. */
  version(): number {
    return Number(this.db.pragma('data_version', { simple: true }));
  }

  /** A commit of a command is noted first: its daemon may be stopped, and see nothing of that. */
  close(): void {
    const { marked } = this.#kind;
    if (marked !== undefined && this.#hasWritten && !this.#hasMarks && this.path !== ':memory:')
      noteChange(this.db, this.path, marked);
    this.db.close();
  }

  protected guard<T>(action: () => T): T {
    try {
      return action();
    } catch (error) {
      throw ownError(this.path, this.#kind, error);
    }
  }
}

/** The result of `make` on a connection; closed when that fails. @throws as openOwn */
export function madeOf<T>(path: string, kind: OwnKind, db: Db, make: (db: Db) => T): T {
  try {
    return make(db);
  } catch (error) {
    db.close();
    throw ownError(path, kind, error);
  }
}
