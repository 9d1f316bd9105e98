import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { moveAside } from '../../src/db/aside.js';

function damaged(t: TestContext, parts: readonly string[]): { dir: string; path: string } {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-aside-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const path = join(dir, 'x.db');
  for (const part of parts) writeFileSync(path + part, part);
  return { dir, path };
}

test('all of a database is moved, as far as it is there', t => {
  for (const parts of [['', '-wal', '-shm'], ['', '-wal'], ['']]) {
    const { dir, path } = damaged(t, parts);
    moveAside(path, `${path}.aside`);
    assert.deepEqual(readdirSync(dir).sort(), parts.map(part => `x.db.aside${part}`).sort());
    for (const part of parts) assert.equal(readFileSync(`${path}.aside${part}`, 'utf8'), part);
  }
});

test('its log has gone when the database itself cannot go', t => {
  const { dir, path } = damaged(t, ['', '-wal', '-shm']);
  mkdirSync(join(`${path}.aside`, 'in the way'), { recursive: true });
  assert.throws(() => moveAside(path, `${path}.aside`));
  assert.deepEqual(readdirSync(dir).sort(), ['x.db', 'x.db.aside', 'x.db.aside-shm', 'x.db.aside-wal']);
});
