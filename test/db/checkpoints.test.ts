import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { Checkpoints } from '../../src/db/checkpoints.js';
import { CHECKPOINT_PAGES, openDatabase, type Db } from '../../src/db/open.js';
import type { Log } from '../../src/lib/log.js';
import { silentLog } from '../../src/lib/log.js';

const PAGE_BYTES = 4096;
let dir: string;
let db: Db;
let checkpoints: Checkpoints;
let warnings: string[];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'lcc-checkpoints-'));
  db = openDatabase(join(dir, 'lcc.db'));
  db.exec('CREATE TABLE big(n INTEGER PRIMARY KEY, content BLOB NOT NULL)');
  warnings = [];
  const log: Log = { ...silentLog, warn: event => void warnings.push(event) };
  checkpoints = new Checkpoints(db, log);
});
afterEach(() => {
  checkpoints.close();
  db.close();
  rmSync(dir, { recursive: true });
});

/** Pages in the log, and how many of them are in the database, too. */
function state(): { log: number; checkpointed: number } {
  const [found] = db.pragma('wal_checkpoint(NOOP)') as { log: number; checkpointed: number }[];
  assert.ok(found);
  return found;
}

/** Commits so many pages and a few. */
function write(pages: number): void {
  db.prepare('INSERT INTO big(content) VALUES (zeroblob(?))').run(pages * PAGE_BYTES);
  checkpoints.committed();
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise<void>(resolve => void setImmediate(resolve));
}

test('a long log is moved into the database by the thread, and begins anew', async () => {
  write(CHECKPOINT_PAGES);
  assert.equal(state().checkpointed, 0, 'not by the commit');
  // Goes on while the thread works.
  write(10);
  await until(() => state().checkpointed === state().log);
  write(1);
  assert.ok(state().log < 20, `${state().log} pages`);
  assert.equal(db.prepare('SELECT count(*) FROM big').pluck().get(), 3);
  assert.deepEqual(db.pragma('integrity_check'), [{ integrity_check: 'ok' }]);
  assert.deepEqual(warnings, []);
});

test('a short log is left alone', async () => {
  write(CHECKPOINT_PAGES / 2);
  for (let turn = 0; turn < 100; turn++) await new Promise<void>(resolve => void setImmediate(resolve));
  assert.equal(state().checkpointed, 0);
});

test('a log that grew faster than the thread moved it begins anew, too', async () => {
  for (let n = 0; n < 6; n++) write(CHECKPOINT_PAGES);
  await until(() => state().checkpointed === state().log);
  write(1);
  assert.ok(state().log < 20, `${state().log} pages`);
});

test('without the thread commits do it, and the log says so', async () => {
  rmSync(join(dir, 'lcc.db'));
  write(CHECKPOINT_PAGES);
  await until(() => warnings.length > 0);
  assert.equal(db.pragma('wal_autocheckpoint', { simple: true }), CHECKPOINT_PAGES);
  const before = state().log;
  write(1);
  assert.ok(state().log > before || state().checkpointed > 0);
});
