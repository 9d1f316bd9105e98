/** Roots of providers: what is said when they come and go, and how what was refused or forgotten comes. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openDatabase, openReadOnly } from '../../src/db/sqlite/open.js';
import { readProvider } from '../../src/db/providers/pidb.js';
import { lccpidb, newHome } from '../support/lccpidb.js';

function provider(home: string, pid: number) {
  const db = openReadOnly(join(home, 'lcc.db'));
  const found = readProvider(db, pid);
  db.close();
  return found;
}

describe('lccpidb root', () => {
  it('adds and removes roots', () => {
    const home = newHome();
    lccpidb(home, 'add', '--pid=1', '--root=http://h/a/', '--root=http://h/b/');
    assert.equal(lccpidb(home, 'root', 'add', '--pid=1', '--root=https://h/c/').status, 0);
    assert.equal(lccpidb(home, 'root', 'rm', '--pid=1', '--root=http://h/b/').status, 0);
    assert.deepEqual(provider(home, 1)?.roots, ['http://h/a/', 'https://h/c/']);
    assert.match(
      lccpidb(home, 'root', 'rm', '--pid=1', '--root=http://h/a/', '--root=https://h/c/').stderr,
      /^lccpidb: provider 1 has no root left: nothing is fetched for it; lccpidb root add\n$/,
    );
    const missing = lccpidb(home, 'root', 'rm', '--pid=1', '--root=http://h/b/');
    assert.deepEqual(
      [missing.status, missing.stderr],
      [64, 'lccpidb: provider 1 has no root http://h/b/; see lccpidb show\n'],
    );
  });

  it('says how what was refused outside of a root comes, once there is a site that has announced', () => {
    const home = newHome();
    lccpidb(home, 'add', '--pid=1', '--root=http://h/a/');
    const addRoot = (root: string) => lccpidb(home, 'root', 'add', '--pid=1', `--root=${root}`).stderr;
    assert.equal(addRoot('http://h/b/'), '');
    const change = (sql: string) => {
      const db = openDatabase(join(home, 'lcc.db'));
      db.exec(sql);
      db.close();
    };
    change('UPDATE pidb SET lastset = 1');
    assert.match(addRoot('http://h/c/'), /outside its roots, if any, .* lccctl want-full --pid=1/);
    const wanted = () => provider(home, 1)?.fullsetwanted ?? null;
    assert.equal(wanted(), null);
    for (const [given, back] of [
      ['http://h/d/', 'http://h/d/'],
      ['http://h/e/sub/', 'http://h/e/'],
      ['http://h/f/', 'http://h/f/sub/'],
    ] as const) {
      change(`INSERT INTO givenroot VALUES (1, '${given}', ${2 ** 32})`);
      assert.match(lccpidb(home, 'show', '--pid=1').stdout, new RegExp(`^root given up: +${given}, `, 'm'));
      assert.match(addRoot(back), /provider 1 is asked for a full set/);
      assert.equal(wanted(), 'root proven again');
      change('UPDATE pidb SET fullsetwanted = NULL; DELETE FROM givenroot');
    }
  });
});
