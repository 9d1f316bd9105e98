/** Logins for sites stand in a file of their own: who reads lcc.db does not see them. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { addProvider, changeLogin, readLoginUser, removeProvider } from '../../../src/db/providers/pidb.js';
import { ProviderStore } from '../../../src/db/providers/provider-store.js';
import { openDatabase, type Db } from '../../../src/db/sqlite/open.js';

const SECRET = 'open:se same ';
let home = '';
let db: Db;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'lcc-logins-'));
  db = openDatabase(join(home, 'lcc.db'));
  for (const pid of [1, 2]) addProvider(db, pid, 'x', {}, [`http://${pid}.test/`]);
});
afterEach(() => {
  db.close();
  rmSync(home, { recursive: true });
});

const file = () => join(home, 'logins');
const loginOf = (pid: number) => new ProviderStore(db).get(pid)?.login;
/** Files of the home that have it. */
const having = (text: string) =>
  readdirSync(home).filter(name => readFileSync(join(home, name)).includes(text));

test('a login stands in the file alone, which its owner alone reads', () => {
  changeLogin(db, 1, `käthe:${SECRET}`);
  changeLogin(db, 2, 'b:b');
  assert.deepEqual([loginOf(1), loginOf(2)], [`käthe:${SECRET}`, 'b:b']);
  assert.equal(readLoginUser(db, 1), 'käthe');
  assert.deepEqual(having(SECRET), ['logins']);
  assert.equal(statSync(file()).mode & 0o777, 0o600);
  changeLogin(db, 1, undefined);
  removeProvider(db, 2);
  assert.deepEqual([loginOf(1), readFileSync(file(), 'utf8')], [null, '']);
});

test('logins in a database of 0.2.0 are moved, and nothing of them stays in it', () => {
  db.prepare('INSERT INTO sitelogin VALUES (1, ?)').run(`u:${SECRET}`);
  db.close();
  assert.ok(having(SECRET).length > 0);
  db = openDatabase(join(home, 'lcc.db'));
  assert.deepEqual(having(SECRET), ['logins']);
  assert.equal(loginOf(1), `u:${SECRET}`);
});

test('without the file nothing is fetched of a provider that has a login: its site would refuse, and all would go', () => {
  changeLogin(db, 1, 'u:p');
  const whole = readFileSync(file());
  const store = new ProviderStore(db);
  for (const spoil of [() => rmSync(file()), () => writeFileSync(file(), 'no login\n')]) {
    spoil();
    assert.deepEqual([store.get(1)?.paused, store.get(2)?.paused], [1, 0]);
    assert.deepEqual([...store.withoutLogin], [1]);
    assert.equal(readLoginUser(db, 1), null);
  }
  writeFileSync(file(), whole);
  assert.deepEqual([store.get(1)?.paused, store.get(1)?.login], [0, 'u:p']);
  assert.equal(store.withoutLogin.size, 0);
});
