/** A database of which nothing can be read, or nothing that matters. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, it } from 'node:test';
import { newHome } from '../support/lccpidb.js';
import { ROOT } from '../support/tree.js';

let home: string;
let path: string;

function run(name: string, ...args: string[]) {
  const env = { ...process.env, LCC_HOME: home, LCC_CONFIG: '' };
  return spawnSync(join(ROOT, 'bin', name), args, { env, encoding: 'utf8', input: '' });
}

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
});
