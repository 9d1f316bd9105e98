/** Single bits flipped in the pages of a database. */
import { closeSync, copyFileSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Db } from '../../src/db/open.js';

const PAGE_BYTES = 4096;

export interface Flip {
  offset: number;
  bit: number;
}

/** A database as it is, its pages of some tables and indexes, and copies of it with one bit changed. */
export class Flips {
  readonly #dir: string;
  readonly #original: string;
  readonly #pages: number[];
  #state: number;

  constructor(db: Db, dir: string, tables: readonly string[], seed = 20261120) {
    this.#dir = dir;
    this.#state = seed;
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

  /** The next copy, always in the same place. */
  next(): Flip & { path: string } {
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

function flip(path: string, offset: number, bit: number): void {
  const fd = openSync(path, 'r+');
  const byte = Buffer.alloc(1);
  readSync(fd, byte, 0, 1, offset);
  byte[0] = (byte[0] ?? 0) ^ (1 << bit);
  writeSync(fd, byte, 0, 1, offset);
  closeSync(fd);
}
