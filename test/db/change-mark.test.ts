/** The mark of changes that logins hang on: it never goes back, and says nothing where nobody keeps it. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { changeMarkOf, makeChangeMark, moveChangeMark } from '../../src/db/providers/change-mark.js';

test('each change, and each start of the Queue Manager, has another mark; without a file there is none', t => {
  const run = mkdtempSync(join(tmpdir(), 'lcc-mark-'));
  t.after(() => rmSync(run, { recursive: true }));
  const changeMark = changeMarkOf(run);
  assert.equal(moveChangeMark(run), undefined);
  assert.equal(changeMark(), undefined, 'who changes something does not make it');
  const marks = Array.from({ length: 5 }, (_, i) => {
    if (i % 2 === 0) makeChangeMark(run);
    else assert.equal(moveChangeMark(run), undefined);
    assert.equal(changeMark(), changeMark());
    return changeMark();
  });
  assert.equal(new Set(marks).size, 5);
});

test('what keeps it from being written is said, and ends a start', t => {
  const run = mkdtempSync(join(tmpdir(), 'lcc-mark-'));
  t.after(() => rmSync(run, { recursive: true }));
  mkdirSync(join(run, 'logins.changes'));
  assert.match(moveChangeMark(run) ?? '', /logins\.changes: EISDIR/);
  assert.throws(() => makeChangeMark(run), { code: 'io', message: /logins\.changes: EISDIR.*; lccd-qm/ });
});
