/** The guards of a log: what is not shipped is not moved into the database, and its log does not begin again. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, it } from 'node:test';
import { OpenLog, type LogMoment } from '../../src/keep/open-log.js';
import { BEGINNING } from '../../src/keep/place.js';
import { openSqlite, type Db } from '../../src/lib/sqlite.js';

let dir: string;
let path: string;
let db: Db;
let open: OpenLog;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'lcc-open-log-'));
  path = join(dir, 'a.db');
  db = openSqlite(path, { timeout: 20 });
  db.pragma('journal_mode = WAL');
  db.pragma('wal_autocheckpoint = 0');
  db.exec('CREATE TABLE t(n INTEGER PRIMARY KEY, content BLOB)');
  const opened = OpenLog.open(path);
  assert.ok(opened);
  open = opened;
});
afterEach(() => {
  open.close();
  db.close();
  rmSync(dir, { recursive: true });
});

const commit = () => void db.exec('INSERT INTO t(content) VALUES (randomblob(20000))');
const checkpoint = (how = 'PASSIVE') =>
  (db.pragma(`wal_checkpoint(${how})`) as [{ busy: number; log: number; checkpointed: number }])[0];

function now(place = BEGINNING): LogMoment {
  const look = open.look(place);
  assert.ok(look);
  return look;
}

it('nobody moves into the database what is not shipped, also after a log that could not be moved out', async () => {
  for (let round = 0; round < 6; round++) {
    const place = open.end();
    const shipped = now(place).before;
    commit();
    checkpoint();
    assert.ok(now().moved <= shipped, 'before it is read');
    // All is said to be shipped, and something was committed after that.
    assert.equal(round % 2 === 0 && open.moveOut(place), false);
    checkpoint();
    assert.ok(now().moved <= shipped, 'after a guard has gone too far');
    const news = await open.news(place, () => undefined);
    assert.ok(news);
    checkpoint();
    assert.ok(now().moved <= shipped, 'while it is being shipped');
    commit();
    checkpoint();
    assert.ok(now().moved <= shipped, 'and more is committed');
    assert.ok(await open.news(news.place, () => undefined));
  }
});

it('a log does not begin again while a guard stands in it, whatever is asked of SQLite', () => {
  commit();
  const { header } = now();
  for (const how of ['PASSIVE', 'FULL', 'RESTART', 'TRUNCATE']) {
    commit();
    checkpoint(how);
    commit();
    assert.deepEqual(now().header, header, how);
  }
});

it('a log that is moved out begins again with the next commit, and is read from its start', async () => {
  commit();
  const place = open.end();
  const { header, frames } = now(place);
  assert.equal(open.moveOut(place), true);
  assert.equal(now().moved, frames);
  commit();
  assert.equal(now().header.salts[0], (header.salts[0] + 1) >>> 0);
  const news = await open.news(place, () => undefined);
  assert.equal(news?.place.offset, open.end().offset);
  assert.ok(news.latest.length > 0);
  assert.equal(await open.news(news.place, () => undefined), undefined);
});

it('a log that a reader holds is not moved out, and is after it has ended', () => {
  const reader = openSqlite(path);
  reader.exec('BEGIN');
  reader.pragma('schema_version');
  commit();
  const place = open.end();
  assert.equal(open.moveOut(place), false);
  reader.close();
  assert.equal(open.moveOut(place), true);
});

it('a database that is just being made is left alone until it has a log', () => {
  const other = join(dir, 'new.db');
  assert.equal(OpenLog.open(other), undefined);
  const making = openSqlite(other);
  making.exec('CREATE TABLE t(n)');
  assert.equal(OpenLog.open(other), undefined);
  // A guard would keep it from entering WAL.
  making.pragma('journal_mode = WAL');
  const made = OpenLog.open(other);
  assert.ok(made);
  made.close();
  making.close();
});
