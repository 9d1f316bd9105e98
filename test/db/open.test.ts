import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { migration001 } from '../../src/db/migrations/001.js';
import { damagedDeletions, damagedErrors } from '../../src/db/damage.js';
import { purgedOf } from '../../src/db/counters.js';
import { migration002 } from '../../src/db/migrations/002.js';
import { migration003 } from '../../src/db/migrations/003.js';
import { migration004 } from '../../src/db/migrations/004.js';
import { openDatabase, openReadOnly, SCHEMA_VERSION } from '../../src/db/open.js';
import { readProvider } from '../../src/db/pidb.js';
import { Terms } from '../../src/db/terms.js';
import { LccError } from '../../src/lib/errors.js';
import { openSqlite } from '../../src/lib/sqlite.js';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'lcc-open-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const refused = (code: string, pattern: RegExp) => (error: unknown) =>
  error instanceof LccError && error.code === code && pattern.test(error.message);

test('a commit is synced: WAL with synchronous=FULL, also when the database is opened again', () => {
  for (let time = 0; time < 2; time++) {
    const db = openDatabase(join(dir, 'lcc.db'));
    assert.equal(db.pragma('journal_mode', { simple: true }), 'wal');
    assert.equal(db.pragma('synchronous', { simple: true }), 2);
    assert.equal(db.pragma('foreign_keys', { simple: true }), 1);
    db.close();
  }
});

test('a new database has a store id of its own that stays', () => {
  const idOf = (name: string) => {
    const db = openDatabase(join(dir, name));
    const id = db.prepare("SELECT value FROM meta WHERE key = 'store_id'").pluck().get();
    db.close();
    return String(id);
  };
  const first = idOf('a.db');
  assert.match(first, /^[0-9a-f-]{36}$/);
  assert.equal(idOf('a.db'), first);
  assert.notEqual(idOf('b.db'), first);
});

test('password hashes are not readable by everyone', () => {
  openDatabase(join(dir, 'lcc.db')).close();
  assert.equal(statSync(join(dir, 'lcc.db')).mode & 0o007, 0);
});

test('a database of a newer LCC is refused, for writing and reading, and left as it is', () => {
  const path = join(dir, 'lcc.db');
  const newer = openSqlite(path);
  newer.pragma(`user_version = ${SCHEMA_VERSION + 1}`);
  newer.close();
  assert.throws(() => openDatabase(path), refused('config', /newer LCC/));
  assert.throws(() => openReadOnly(path), refused('config', /newer LCC/));
  const again = openSqlite(path);
  assert.equal(again.pragma('user_version', { simple: true }), SCHEMA_VERSION + 1);
  again.close();
});

test('a database of an older LCC is upgraded when opened for writing, refused for reading', () => {
  const path = join(dir, 'lcc.db');
  openSqlite(path).close();
  assert.throws(() => openReadOnly(path), refused('input.missing', /lccd/));
  openSqlite(path).exec(`${migration001};PRAGMA user_version = 1`).close();
  assert.throws(() => openReadOnly(path), refused('config', /start lccd to upgrade/));
  openDatabase(path).close();
  openReadOnly(path).close();
});

test('a database of schema 2 is upgraded with all it holds', () => {
  const path = join(dir, 'lcc.db');
  const older = openSqlite(path);
  older.exec(`${migration001};${migration002}`);
  older.exec(
    `INSERT INTO pidb(pid, password, priority) VALUES (7, 'x', 2); INSERT INTO meta VALUES ('store_id', 'id');
     UPDATE counter SET value = 41 WHERE name = 'seq'; INSERT INTO store VALUES ('m1', 's1');
     INSERT INTO tombstone VALUES (40, 3, 7, 'http://x/3', 'text/html', NULL, 1795000000)`,
  );
  older.pragma('user_version = 2');
  older.close();
  const db = openDatabase(path);
  assert.equal(db.pragma('user_version', { simple: true }), SCHEMA_VERSION);
  const { priority, maxlen, fetchtimeout, useragent } = readProvider(db, 7) ?? {};
  assert.deepEqual([priority, maxlen, fetchtimeout, useragent], [2, null, null, null]);
  assert.equal(db.prepare("SELECT value FROM meta WHERE key = 'store_id'").pluck().get(), 'id');
  // What an older LCC deleted was a row, not a browse URL alone.
  assert.deepEqual(db.prepare('SELECT id, moved FROM tombstone').all(), [{ id: 3, moved: 0 }]);
  // What an older LCC stored counts as synced.
  assert.equal(db.prepare("SELECT syncedseq FROM store WHERE machineid = 'm1'").pluck().get(), 41);
  db.close();
});

test('deletions of schema 3 are believed without sums, and from which on they are remembered is known', () => {
  const path = join(dir, 'lcc.db');
  const older = openSqlite(path);
  older.exec(`${migration001};${migration002};${migration003}`);
  older.exec(
    `UPDATE counter SET value = 41 WHERE name = 'seq'; UPDATE counter SET value = 12 WHERE name = 'purged';
     INSERT INTO tombstone VALUES (40, 3, 7, 'http://x/3', 'text/html', NULL, 1795000000, 0);
     INSERT INTO oldpath VALUES (40, 7, 'text/html', 'm1', 'aa/bb/1', 1795000000)`,
  );
  older.pragma('user_version = 3');
  older.close();
  const db = openDatabase(path);
  assert.deepEqual([...damagedDeletions(db)].flat(), []);
  assert.equal(purgedOf(db), 12);
  db.exec('UPDATE tombstone SET seq = 42; UPDATE oldpath SET seq = 42');
  assert.equal([...damagedDeletions(db)].flat().length, 2, 'what is new has sums');
  db.close();
});

test('providers and errors of schema 4 are believed without sums', () => {
  const path = join(dir, 'lcc.db');
  const older = openSqlite(path);
  older.exec(`${migration001};${migration002};${migration003};${migration004}`);
  older.exec(
    `INSERT INTO pidb(pid, password) VALUES (7, 'x'); INSERT INTO proots VALUES (7, 'http://x/');
     INSERT INTO pierr(pid, code, text, attrs) VALUES (7, 404, 'gone', ' curl="x"')`,
  );
  older.pragma('user_version = 4');
  older.close();
  const db = openDatabase(path);
  assert.equal(new Terms(db).state(7), 'unsummed');
  assert.equal(readProvider(db, 7)?.damaged, false);
  assert.deepEqual([...damagedErrors(db)].flat(), []);
  db.close();
});

test('a reader creates nothing and cannot write', () => {
  assert.throws(() => openReadOnly(join(dir, 'none.db')), refused('input.missing', /none\.db/));
  openDatabase(join(dir, 'lcc.db')).close();
  const db = openReadOnly(join(dir, 'lcc.db'));
  assert.throws(() => db.exec('DELETE FROM meta'), /readonly/);
  db.close();
});

test('what is no database is called damaged', () => {
  writeFileSync(join(dir, 'lcc.db'), 'not a database at all, '.repeat(1000));
  assert.throws(() => openDatabase(join(dir, 'lcc.db')), refused('data.malformed', /lcc\.db/));
});

test('a directory that is not there is an error that names the path', () => {
  assert.throws(() => openDatabase(join(dir, 'no/lcc.db')), refused('input.missing', /no\/lcc\.db/));
});
