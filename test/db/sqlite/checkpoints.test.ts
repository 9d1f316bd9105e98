import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { Checkpoints } from '../../../src/db/sqlite/checkpoints.js';
import { CHECKPOINT_PAGES, openDatabase, openReadOnly, type Db } from '../../../src/db/sqlite/open.js';
import type { Log } from '../../../src/lib/log.js';
import { silentLog } from '../../../src/lib/log.js';
import { until } from '../../support/until.js';

const PAGE_BYTES = 4096;
let dir: string;
let db: Db;
let checkpoints: Checkpoints;
let warnings: string[];
let isYielding: () => boolean;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'lcc-checkpoints-'));
  db = openDatabase(join(dir, 'lcc.db'));
  db.exec('CREATE TABLE big(n INTEGER PRIMARY KEY, content BLOB NOT NULL)');
  warnings = [];
  isYielding = () => false;
  const log: Log = { ...silentLog, warn: event => void warnings.push(event) };
  checkpoints = new Checkpoints(db, log, () => isYielding());
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

/** Commits `pages` and a few more. */
function write(pages: number): void {
  db.prepare('INSERT INTO big(content) VALUES (zeroblob(?))').run(pages * PAGE_BYTES);
  checkpoints.committed();
}

/** What is asked of it from now on. */
function pragmasOf(asking: Db): string[] {
  const asked: string[] = [];
  const pragma = asking.pragma.bind(asking);
  asking.pragma = (text, options) => {
    asked.push(text);
    return pragma(text, options);
  };
  return asked;
}

test('a long log is moved into the database by the thread, and begins anew', async () => {
  const commit = db.prepare('INSERT INTO big(content) VALUES (zeroblob(?))');
  commit.run(CHECKPOINT_PAGES * PAGE_BYTES);
  assert.equal(state().checkpointed, 0, 'not by the commit');
  const asked = pragmasOf(db);
  checkpoints.committed();
  assert.deepEqual(asked, [], 'nor behind it');
  // Goes on while the thread works.
  write(10);
  await until('the log is moved', () => state().checkpointed === state().log);
  write(1);
  assert.ok(state().log < 20, `${state().log} pages`);
  assert.equal(db.prepare('SELECT count(*) FROM big').pluck().get(), 3);
  assert.deepEqual(db.pragma('integrity_check'), [{ integrity_check: 'ok' }]);
  assert.deepEqual(warnings, []);
});

test('the pages that commits write are counted, also when the log begins anew', async () => {
  write(CHECKPOINT_PAGES);
  assert.ok(checkpoints.written >= CHECKPOINT_PAGES);
  await until('the log is moved', () => state().checkpointed === state().log);
  const before = checkpoints.written;
  write(10);
  assert.ok(state().log < 20, 'it has begun anew');
  assert.ok(checkpoints.written - before >= 10 && checkpoints.written - before < 20);
});

test('a short log is left alone', async () => {
  write(CHECKPOINT_PAGES / 2);
  for (let turn = 0; turn < 100; turn++) await new Promise<void>(resolve => void setImmediate(resolve));
  assert.equal(state().checkpointed, 0);
});

test('while large work makes room for others a shorter log is moved, all of it by the thread', async () => {
  write(CHECKPOINT_PAGES / 4 - 100);
  // At first it cannot move what is newer than this: 200 pages, which the owner would have moved.
  const reader = openReadOnly(db.name);
  const rows = reader.prepare('SELECT n FROM big').iterate();
  rows.next();
  const asked = pragmasOf(db);
  isYielding = () => true;
  write(200);
  isYielding = () => {
    rows.return?.();
    return true;
  };
  await until('the log is moved', () => state().checkpointed === state().log);
  assert.ok(!asked.includes('wal_checkpoint(PASSIVE)'), 'nothing by the owner');
  write(1);
  assert.ok(state().log < 20, `${state().log} pages`);
  reader.close();
});

test('a log that grew faster than the thread moved it begins anew, too', async () => {
  for (let n = 0; n < 6; n++) write(CHECKPOINT_PAGES);
  await until('the log is moved', () => state().checkpointed === state().log);
  write(1);
  assert.ok(state().log < 20, `${state().log} pages`);
});

test('a log that a reader keeps long shrinks to what is kept once the reader has ended', async () => {
  const reader = openReadOnly(db.name);
  reader.exec('BEGIN; SELECT count(*) FROM big');
  const bytes = () => statSync(`${db.name}-wal`).size;
  for (let n = 0; n < 5; n++) write(CHECKPOINT_PAGES);
  assert.ok(bytes() > 75 * 1024 * 1024, `${bytes()} bytes while it reads`);
  reader.exec('COMMIT');
  reader.close();
  write(1);
  await until('the log is moved', () => state().checkpointed === state().log);
  write(1);
  assert.ok(bytes() <= 64 * 1024 * 1024, `${bytes()} bytes`);
});

test('without the thread commits do it, and the log says so', async () => {
  rmSync(join(dir, 'lcc.db'));
  write(CHECKPOINT_PAGES);
  await until('a warning is given', () => warnings.length > 0);
  assert.equal(db.pragma('wal_autocheckpoint', { simple: true }), CHECKPOINT_PAGES);
  const before = state().log;
  write(1);
  assert.ok(state().log > before || state().checkpointed > 0);
});

/** Commits numbered blobs over a database of its own, and says so, until it is killed. */
const WRITER = `
  const { openDatabase } = await import(process.argv[1] + 'src/db/sqlite/open.js');
  const { Checkpoints } = await import(process.argv[1] + 'src/db/sqlite/checkpoints.js');
  const db = openDatabase(process.argv[2]);
  db.exec('CREATE TABLE IF NOT EXISTS big(n INTEGER PRIMARY KEY, content BLOB NOT NULL)');
  let asked = 0;
  const isYielding = () => asked++ % 2 === 0;
  const checkpoints = new Checkpoints(db, { warn: reason => { throw new Error(reason); } }, isYielding);
  const insert = db.prepare('INSERT INTO big(content) VALUES (randomblob(1000000))');
  for (;;) {
    const { lastInsertRowid } = insert.run();
    process.stdout.write(lastInsertRowid + '\\n');
    checkpoints.committed();
    await new Promise(resolve => setImmediate(resolve));
  }
`;

test('killed anywhere, nothing that was committed is lost', async () => {
  const path = join(dir, 'killed.db');
  const dist = new URL('../../..', import.meta.url).href;
  for (const commits of [18, 19, 20, 22, 25, 40]) {
    const child = spawn(process.execPath, ['--input-type=module', '-e', WRITER, dist, path], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let last = 0;
    let seen = 0;
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      const numbers = chunk.toString().trim().split('\n').map(Number);
      seen += numbers.length;
      last = numbers.at(-1) ?? last;
      if (seen >= commits) child.kill('SIGKILL');
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    const after = openDatabase(path);
    assert.deepEqual(after.pragma('integrity_check'), [{ integrity_check: 'ok' }]);
    assert.ok(Number(after.prepare('SELECT max(n) FROM big').pluck().get()) >= last);
    after.exec('DELETE FROM big');
    after.close();
  }
});

test('a log of a kept home is left to its keeper, however long it is', () => {
  checkpoints.close();
  checkpoints = new Checkpoints(db, silentLog, () => false, true);
  write(5 * CHECKPOINT_PAGES);
  write(1);
  assert.equal(state().checkpointed, 0);
  assert.ok(state().log > 5 * CHECKPOINT_PAGES, 'it was not begun anew');
  assert.equal(checkpoints.logPages, state().log);
  assert.equal(checkpoints.isMoved, false);
  db.pragma('wal_checkpoint(PASSIVE)');
  assert.equal(checkpoints.isMoved, true);
});
