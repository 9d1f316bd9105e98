/** Installing what package-lock.json names. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { ROOT } from '../support/tree.js';

test('npm ci says nothing of any package: each takes the Node that this one takes', () => {
  const { status, stdout, stderr } = spawnSync(
    'npm',
    ['ci', '--dry-run', '--offline', '--ignore-scripts', '--no-audit', '--no-fund'],
    { cwd: ROOT, encoding: 'utf8', env: { ...process.env, npm_config_loglevel: 'notice' } },
  );
  assert.equal(status, 0, stderr);
  assert.equal(stderr, '');
  assert.match(stdout, /up to date|added \d+/);
});
