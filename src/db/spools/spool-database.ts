/**
 * A small database below the spool directory, which all UNSes of a home share and write. One that is damaged
 * is set aside, not overwritten, and a new one takes its place; a UNS that had the old one open finds that
 * out at its next write, and ends: its daemon is started again, and begins with the new one.
 */
import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { LccError, messageOf } from '../../lib/errors.js';
import { inodeOf } from '../../lib/inode.js';
import { tryLock, type Lock } from '../../lib/lock.js';
import type { Log } from '../../lib/log.js';
import { sleepSync } from '../../lib/sleep-sync.js';
import { openForReading } from '../../lib/sqlite-read.js';
import { step } from '../../lib/steps.js';
import { goOnLeaving, isLeaving, moveAside } from '../sqlite/aside.js';
import { isDamage, storageError, type Db } from '../sqlite/open.js';
import { upgrade, versionOf } from '../sqlite/schema-version.js';
import { openWal, type WalOptions } from '../sqlite/wal.js';

const BUSY_TIMEOUT_MS = 5000;
const RETRY_MS = 20;
const REMEDY = 'it is set aside when its daemon starts';

/** A row: this database took the place of a damaged one, and what that knew has to be skipped. */
const LOST = 'CREATE TABLE lost(yes INTEGER NOT NULL)';

/** The owner of a database. Without it a damaged one is refused. */
export interface Caretaker {
  log: Log;
  /** Called when the process must end: the database is damaged, or not the one that others use any more. */
  fail: (error: unknown) => void;
}

interface SpoolDatabaseOptions {
  /** Steps that make the database, and bring one of an older release up to date (schema-version.ts). */
  steps: readonly [string, ...string[]];
  /** FULL: a commit is on disk; NORMAL: a power cut may lose the last ones, in their order. */
  synchronous: WalOptions['synchronous'];
  /** The consequence when it had to be set aside: for the log. */
  afterLoss: string;
  caretaker: Caretaker | undefined;
}

export class SpoolDatabase {
  readonly db: Db;
  readonly #path: string;
  readonly #inode: bigint | undefined;
  readonly #caretaker: Caretaker | undefined;

  /**
   * Opens or makes one.
   * @throws LccError `data.malformed` when it is damaged and nobody takes care, `io` or `io.full`
   */
  constructor(path: string, options: SpoolDatabaseOptions) {
    this.#path = path;
    this.#caretaker = options.caretaker;
    this.db = openHealed(path, options);
    this.#inode = inodeOf(path);
  }

  /** True if it took the place of a damaged one. */
  get isLost(): boolean {
    return this.db.prepare('SELECT 1 FROM lost').get() !== undefined;
  }

  /** Makes what `change` does, all or nothing. @throws as `guard`; LccError `try.later` when another took its
   * place */
  write<T>(change: () => T): T {
    return this.guard(() => {
      if (inodeOf(this.#path) !== this.#inode)
        throw this.#ended(
          new LccError('try.later', `${this.#path}: another file took its place; this process restarts`),
        );
      return this.db.transaction(change).immediate();
    });
  }

  /** @throws LccError `data.malformed` for damage, `io.full`, `io`; all else as it is */
  guard<T>(action: () => T): T {
    try {
      return action();
    } catch (error) {
      if (!isDamage(error)) throw error;
      throw this.#ended(storageError(this.#path, error, REMEDY));
    }
  }

  #ended(error: unknown): unknown {
    this.#caretaker?.fail(error);
    return error;
  }
}

function openHealed(path: string, options: SpoolDatabaseOptions): Db {
  const { caretaker } = options;
  try {
    if (!isLeaving(path)) return openSound(path, options);
  } catch (error) {
    if (caretaker === undefined || !(error instanceof LccError) || error.code !== 'data.malformed')
      throw error;
  }
  // One at a time: a second one would set the new one aside.
  const lock = waitForLock(`${path}.lock`);
  try {
    goOnLeaving(path);
    return openSound(path, options);
  } catch (error) {
    if (caretaker === undefined || !(error instanceof LccError) || error.code !== 'data.malformed')
      throw error;
    const aside = setAside(path);
    caretaker.log.error(`database damaged and set aside; ${options.afterLoss}`, {
      error: messageOf(error.cause),
      aside,
    });
    return openSound(path, options);
  } finally {
    lock.release();
  }
}

function openSound(path: string, { steps, synchronous }: SpoolDatabaseOptions): Db {
  try {
    return openWal(path, { synchronous, busyMs: BUSY_TIMEOUT_MS }, db => {
      const isNew = versionOf(db, path, steps) === 0;
      // A database in use by others may be large; a damaged page would show only when it is needed.
      const found = isNew ? 'ok' : String(db.pragma('quick_check(1)', { simple: true }));
      if (found !== 'ok') throw Object.assign(new Error(found), { code: 'SQLITE_CORRUPT' });
      upgrade(db, path, steps, () => {
        db.exec(LOST);
        // Also when the process that set it aside was killed before there was a new one.
        if (hasDamaged(path)) db.exec('INSERT INTO lost VALUES (1)');
      });
    });
  } catch (error) {
    throw storageError(path, error, REMEDY);
  }
}

function waitForLock(path: string): Lock {
  for (let waitedMs = 0; ; waitedMs += RETRY_MS) {
    const lock = tryLock(path);
    if (lock !== undefined) return lock;
    if (waitedMs >= BUSY_TIMEOUT_MS)
      throw new LccError('try.later', `${path}: another process sets the database aside`);
    sleepSync(RETRY_MS);
  }
}

/** Lines of PRAGMA integrity_check that are told; damage seldom comes alone. */
const MAX_LINES = 3;

/** The fault of a database, looked at without changing anything, also while others use it; undefined when it
 * is sound or not there. @param table one it has had from its beginning */
export function damageOf(path: string, table: string): string | undefined {
  if (!existsSync(path)) return undefined;
  let db: Db | undefined;
  try {
    db = openForReading(path, BUSY_TIMEOUT_MS);
    const lines = (db.pragma(`integrity_check(${MAX_LINES})`) as { integrity_check: string }[])
      .map(line => line.integrity_check)
      .filter(line => line !== 'ok');
    if (lines.length > 0) return lines.join(', ').replaceAll(/\s+/g, ' ');
    const has = db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(table);
    return has === undefined ? 'empty: it was emptied, or its creation was interrupted' : undefined;
  } catch (error) {
    if (isDamage(error)) return messageOf(error);
    throw storageError(path, error, REMEDY);
  } finally {
    db?.close();
  }
}

/**
 * Sets a damaged one aside, as its daemon would: the next to open it makes a new one and knows that there was
 * another. A process that has it open ends at its next write.
 * @returns its new name @throws LccError `try.later` when another process does so; system errors of the disk
 */
export function setDamagedAside(path: string): string {
  const lock = waitForLock(`${path}.lock`);
  try {
    return setAside(path);
  } finally {
    lock.release();
  }
}

/** @returns the new name */
function setAside(path: string): string {
  let aside = '';
  for (let n = 1; aside === '' || existsSync(aside); n++) aside = `${path}.damaged-${n}`;
  moveAside(path, aside);
  step('uns.database.setaside');
  return aside;
}

function hasDamaged(path: string): boolean {
  return readdirSync(dirname(path)).some(name => name.startsWith(`${basename(path)}.damaged-`));
}
