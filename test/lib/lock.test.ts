import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { holderOf, tryLock } from '../../src/lib/lock.js';

test('a lock tells its holder by name and process, and nobody where there is none', () => {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-lock-'));
  const path = join(dir, 'lock');
  const lock = tryLock(path);
  assert.ok(lock !== undefined);
  assert.equal(tryLock(path), undefined);
  assert.equal(holderOf(path), `${basename(process.argv[1] ?? '')} (process ${process.pid})`);
  lock.release();
  writeFileSync(join(dir, 'other'), '');
  for (const name of ['lock', 'other', 'missing']) assert.equal(holderOf(join(dir, name)), 'another process');
  rmSync(dir, { recursive: true });
});
