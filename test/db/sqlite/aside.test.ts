import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { beginLeaving, endLeaving, finishLeaving, isLeaving } from '../../../src/db/sqlite/aside.js';
import { onStep } from '../../../src/lib/steps.js';

function moveAside(path: string, aside: string): void {
  beginLeaving(path, aside);
  finishLeaving(path);
  endLeaving(path);
}

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
  const moved = ['x.db', 'x.db.aside', 'x.db.aside-shm', 'x.db.aside-wal'];
  assert.deepEqual(readdirSync(dir).sort(), [...moved, 'x.db.leaving']);
});

test('cut off anywhere, it goes on under the same name, and leaves alone what came in its place', t => {
  for (const step of ['noted', 'moved:1', 'moved:2', 'moved:3']) {
    const { dir, path } = damaged(t, ['', '-wal', '-shm']);
    const [name, count = 1] = step.split(':');
    let left = Number(count);
    onStep(at => {
      if (at === `db.leaving.${name}` && --left === 0) throw new Error('killed');
    });
    assert.throws(() => moveAside(path, `${path}.aside`), /killed/);
    onStep(() => undefined);
    assert.ok(isLeaving(path));
    assert.equal(finishLeaving(path), `${path}.aside`);
    assert.deepEqual(
      readdirSync(dir).sort(),
      ['', '-shm', '-wal', '.leaving'].map((part, i) => `x.db${i < 3 ? '.aside' : ''}${part}`),
    );
    for (const part of ['', '-wal', '-shm']) writeFileSync(path + part, 'new');
    assert.equal(finishLeaving(path), `${path}.aside`);
    for (const part of ['', '-wal', '-shm']) assert.equal(readFileSync(path + part, 'utf8'), 'new');
    endLeaving(path);
    assert.equal(finishLeaving(path), undefined);
  }
});
