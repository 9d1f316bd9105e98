import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { openDatabase, openReadOnly, SCHEMA_VERSION } from '../../../src/db/sqlite/open.js';
import { SALVAGED_TABLES } from '../../../src/db/sqlite/salvage.js';
import { upgrade } from '../../../src/db/sqlite/schema-version.js';
import { LccError } from '../../../src/lib/errors.js';
import { openSqlite } from '../../../src/lib/sqlite.js';

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

test('a database that nothing was written to yet is made by a writer, and refused for reading', () => {
  const path = join(dir, 'lcc.db');
  openSqlite(path).close();
  assert.throws(() => openReadOnly(path), refused('input.missing', /lccd/));
  openDatabase(path).close();
  openReadOnly(path).close();
});

test('an older database is brought to the newest schema by the steps it lacks, all or nothing', () => {
  const db = openSqlite(join(dir, 'some.db'));
  const make = 'CREATE TABLE t(a); INSERT INTO t VALUES (1)';
  const second = 'ALTER TABLE t ADD COLUMN b; UPDATE t SET b = a + 1';
  let made = 0;
  const upgradeTo = (...steps: string[]) => upgrade(db, 'some.db', steps, () => made++);
  upgradeTo(make);
  upgradeTo(make, second);
  upgradeTo(make, second);
  assert.deepEqual(db.prepare('SELECT * FROM t').all(), [{ a: 1, b: 2 }]);
  assert.throws(() => upgradeTo(make, second, 'INSERT INTO t VALUES (3, 4)', 'nonsense'), /syntax/);
  assert.equal(db.prepare('SELECT count(*) FROM t').pluck().get(), 1);
  assert.equal(db.pragma('user_version', { simple: true }), 2);
  assert.equal(made, 1);
  assert.throws(() => upgradeTo(make), refused('config', /some\.db: schema 2 was written by a newer LCC/));
  db.close();
});

test('one whose version cannot be is damaged', () => {
  const path = join(dir, 'lcc.db');
  openDatabase(path).close();
  openSqlite(path).exec('PRAGMA user_version = -7').close();
  assert.throws(() => openDatabase(path), refused('data.malformed', /user_version is -7/));
  assert.throws(() => openReadOnly(path), refused('data.malformed', /user_version is -7/));
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

test('no table is forgotten when a damaged database is replaced', () => {
  const db = openDatabase(join(dir, 'lcc.db'));
  const tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
  const known = db.prepare<[], string>(tables).pluck().all();
  db.close();
  assert.deepEqual(known.filter(name => name !== 'meta').toSorted(), [...SALVAGED_TABLES].toSorted());
});
