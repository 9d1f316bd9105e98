import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setNewest } from '../../src/lib/newest.js';

test('of more entries than a map may have the oldest goes, and what is set again is the newest', () => {
  const map = new Map<string, number>();
  for (const [key, value] of [
    ['a', 1],
    ['b', 2],
    ['a', 3],
    ['c', 4],
  ] as const)
    setNewest(map, key, value, 2);
  assert.deepEqual(
    [...map],
    [
      ['a', 3],
      ['c', 4],
    ],
  );
});
