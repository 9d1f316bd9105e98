/** Single bits flipped in the pages of a database. */
import { AssertionError } from 'node:assert';
import { closeSync, copyFileSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Db } from '../../src/db/sqlite/open.js';
import { QueueStore } from '../../src/db/queue/store.js';
import { openOrSalvage } from '../../src/db/sqlite/salvage.js';
import { noteFailure } from '../../src/db/sqlite/suspicion.js';
import { LccError, messageOf } from '../../src/lib/errors.js';
import { silentLog } from '../../src/lib/log.js';
import { retryRule } from '../../src/qm/retries.js';

const PAGE_BYTES = 4096;
/** Starts after which a Queue Manager must have come through: damage met, checked, salvaged. */
const MAX_STARTS = 4;
/** Where the random numbers begin: every run flips the same bits. */
const SEED = 20261120;

/** A database as it is, its pages of some tables and indexes, and copies of it with one bit changed. */
export class Flips {
  readonly #dir: string;
  readonly #original: string;
  readonly #pages: number[];
  #state = SEED;

  constructor(db: Db, dir: string, tables: readonly string[]) {
    this.#dir = dir;
    this.#pages = db
      .prepare<string[], number>(
        `SELECT pageno FROM dbstat WHERE name IN (${tables.map(() => '?').join(',')}) ORDER BY pageno`,
      )
      .pluck()
      .all(...tables);
    db.pragma('wal_checkpoint(TRUNCATE)');
    this.#original = join(dir, 'original.db');
    copyFileSync(db.name, this.#original);
  }

  /** Tries `count` copies. @param trial what is wrong with one @returns what was, and by which bit */
  failures(count: number, trial: (path: string) => string | undefined): string[] {
    const failures: string[] = [];
    for (let i = 0; i < count; i++) {
      const { path, offset, bit } = this.#next();
      const found = trial(path);
      if (found !== undefined) failures.push(`byte ${offset} bit ${bit}: ${found}`);
    }
    return failures;
  }

  /** The next copy, always in the same place. */
  #next(): { path: string; offset: number; bit: number } {
    const path = join(this.#dir, 'flipped.db');
    for (const suffix of ['', '-wal', '-shm', '.suspect', '.cleared', '.new'])
      rmSync(path + suffix, { force: true });
    copyFileSync(this.#original, path);
    const page = this.#pages[this.#random(this.#pages.length)] ?? 1;
    const offset = (page - 1) * PAGE_BYTES + this.#random(PAGE_BYTES);
    const bit = this.#random(8);
    flip(path, offset, bit);
    return { path, offset, bit };
  }

  #random(below: number): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * below);
  }
}

/** Its stores, as a Queue Manager has them. */
export function storeOf(db: Db): QueueStore {
  return new QueueStore(db, {
    errorsKept: 1000,
    retries: retryRule(1),
    nowS: () => 1,
  });
}

/**
 * Starts as a Queue Manager is started after it died, until `work` comes to its end.
 * @param isNoticed whether an error is what damage that is met leads to
 * @returns what is wrong, as far as that is no matter of what `work` saw
 */
export function startUntilDone(
  path: string,
  work: (db: Db) => void,
  isNoticed = (error: unknown) => !(error instanceof AssertionError),
): string | undefined {
  for (let starts = 1; starts <= MAX_STARTS; starts++) {
    let db: Db | undefined;
    try {
      db = openOrSalvage(path, 1_800_000_000_000 + starts * 1000, silentLog, { fromNothing: true });
      work(db);
      db.close();
      return undefined;
    } catch (error) {
      db?.close();
      if (!isNoticed(error)) return messageOf(error);
      noteFailure(path, error);
    }
  }
  return 'dies again and again';
}

function flip(path: string, offset: number, bit: number): void {
  const fd = openSync(path, 'r+');
  const byte = Buffer.alloc(1);
  readSync(fd, byte, 0, 1, offset);
  byte[0] = (byte[0] ?? 0) ^ (1 << bit);
  writeSync(fd, byte, 0, 1, offset);
  closeSync(fd);
}

/** What is wrong with an error of a reader; undefined: the damage was noticed, nothing of it is shown as good. */
export function unlessNoticed(error: unknown): string | undefined {
  const message = messageOf(error);
  return error instanceof LccError || /malformed|SQLITE/.test(message) ? undefined : message;
}
