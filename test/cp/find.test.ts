import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findArguments, runFind } from '../../src/cp/find.js';
import { LccError } from '../../src/lib/errors.js';

test('prints with NUL what the whole expression finds', () => {
  const cases: [string, string][] = [
    ['', '-print0'],
    ['docroot', 'docroot -print0'],
    ['docroot -name *.html', 'docroot ( -name *.html ) -print0'],
    ['a b -name x -o -name y', 'a b ( -name x -o -name y ) -print0'],
    ['-L -O3 -D tree a ! -name x', '-L -O3 -D tree a ( ! -name x ) -print0'],
    ['a ( -name x )', 'a ( ( -name x ) ) -print0'],
    ['a -name x -print', 'a -name x -print0'],
    ['a -name x -print0 -o -name y -print', 'a -name x -print0 -o -name y -print0'],
    ['a -exec grep -q x {} ; -print', 'a -exec grep -q x {} ; -print0'],
    ['a -exec touch {} ;', 'a -exec touch {} ;'],
  ];
  for (const [given, expected] of cases)
    assert.equal(findArguments(given.split(' ').filter(Boolean)).join(' '), expected);
});

test('refuses an action that prints something other than names', () => {
  for (const action of ['-printf', '-ls'])
    assert.throws(() => findArguments(['.', action, '%p']), {
      code: 'usage',
      message: /does not print names/,
    });
});

test('the failure of find is ours', async () => {
  const chunks: Buffer[] = [];
  await assert.rejects(
    runFind(['/nonexistent-directory'], chunk => chunks.push(chunk)),
    (e: unknown) => e instanceof LccError && e.code === 'io' && /find ended with status 1/.test(e.message),
  );
});
