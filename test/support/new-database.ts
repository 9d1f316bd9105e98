/**
 * lcc.db as `openDatabase` makes it, with what is each one's own, its id and its first number of an error: a copy of one that this process has made before, where
 * there is none. Making the tables takes ten times as long, and most tests begin with that.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase, type Db } from '../../src/db/sqlite/open.js';

/** The better-sqlite3 that runs on this Node. */
export const SQLITE = Number(process.versions.napi) >= 10 ? 'better-sqlite3-13' : 'better-sqlite3';

let empty: Buffer | undefined;

export function newDatabase(path: string): Db {
  if (existsSync(path)) return openDatabase(path);
  writeFileSync(path, (empty ??= makeEmpty()), { mode: 0o640, flag: 'wx' });
  const db = openDatabase(path);
  db.prepare("UPDATE meta SET value = ? WHERE key = 'store_id'").run(randomUUID());
  db.prepare("UPDATE sqlite_sequence SET seq = ? WHERE name = 'pierr'").run(Date.now());
  return db;
}

function makeEmpty(): Buffer {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-empty-'));
  openDatabase(join(dir, 'lcc.db')).close();
  const bytes = readFileSync(join(dir, 'lcc.db'));
  rmSync(dir, { recursive: true });
  return bytes;
}
