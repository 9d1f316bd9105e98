/** A database of which nothing can be read, or nothing that matters. */
import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, it } from 'node:test';
import { openDatabase } from '../../src/db/sqlite/open.js';
import { damagePages } from '../support/damage.js';
import { newHome } from '../support/lccpidb.js';
import { runCommand } from '../support/command.js';

let home: string;
let path: string;

const run = (name: string, ...args: string[]) => runCommand(home, name, args);

const START_EMPTY =
  'put back a backup of it, or stop lccd and begin with nothing: lccfsck --repair --start-empty';

beforeEach(() => {
  home = newHome();
  path = join(home, 'lcc.db');
  mkdirSync(home);
});

describe('a database that is none', () => {
  beforeEach(() => writeFileSync(path, 'no database'.repeat(1000)));

  for (const [name, ...args] of [
    ['lccq', '--count'],
    ['lccq-resolve'],
    ['lccstat', '--queue'],
    ['lccpidb', 'list'],
    ['lccpidb', 'add', '--pid=1', '--root=http://h/'],
  ] as const) {
    it(`ends ${[name, ...args].join(' ')} with 74: 65 would say that a cursor is of no use`, () => {
      const { status, stderr } = run(name, ...args);
      assert.equal(status, 74, stderr);
      assert.equal(stderr, `${name}: ${path}: database damaged (file is not a database); ${START_EMPTY}\n`);
    });
  }

  it('is not advised to be repaired, which would be refused; begun anew, its providers have to be added again', () => {
    const looked = run('lccfsck');
    assert.equal(looked.status, 1);
    assert.ok(looked.stdout.endsWith(`; ${START_EMPTY}\n`), looked.stdout);
    assert.match(looked.stderr, /: 1 found, 0 repaired\n$/);
    assert.equal(run('lccfsck', '--repair').status, 78);
    const anew = run('lccfsck', '--repair', '--start-empty');
    assert.equal(anew.status, 0, anew.stderr);
    assert.match(anew.stderr, /no provider is in it: add them again with lccpidb add/);
    assert.doesNotMatch(anew.stderr, /full set/);
  });
});

describe('a database of which only the beginning can be read', () => {
  it('is not advised to be repaired either', () => {
    openDatabase(path).close();
    damagePages(path);
    for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
    const looked = run('lccfsck');
    assert.equal(looked.status, 1, looked.stderr);
    assert.ok(looked.stdout.endsWith(`no provider can be read of it; ${START_EMPTY}\n`), looked.stdout);
    assert.match(looked.stderr, / found, 0 repaired\n$/);
    assert.equal(run('lccfsck', '--repair').status, 78);
  });
});
