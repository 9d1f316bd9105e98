import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { ROOT } from '../support/tree.js';

const home = mkdtempSync(join(tmpdir(), 'lcc-lccstat-'));
after(() => rmSync(home, { recursive: true }));

function lccstat(...args: string[]) {
  return spawnSync(join(ROOT, 'bin/lccstat'), args, {
    env: { ...process.env, LCC_HOME: home },
    encoding: 'utf8',
  });
}

describe('lccstat', () => {
  it('says 69 when no daemon answers', () => {
    for (const args of [[], ['--json'], ['--until-idle=0.1']]) {
      const { status, stderr } = lccstat(...args);
      assert.equal(status, 69);
      assert.match(stderr, /no daemon answers below .*; start lccd, or set LCC_HOME/);
    }
  });

  it('refuses a time that is none', () => assert.equal(lccstat('--until-idle=soon').status, 64));
});
