import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backoffMs, doubledMs } from '../../src/lib/backoff.js';

test('sites that failed together do not come back together, and none waits longer than it may', () => {
  const rules = { minMs: 1000, maxMs: 60_000 };
  const waits = (random: number) => [1, 2, 3, 7, 99].map(failures => backoffMs(rules, failures, random));
  assert.deepEqual(waits(0), [500, 1000, 2000, 30_000, 30_000]);
  assert.deepEqual(waits(1), [1000, 2000, 4000, 60_000, 60_000]);
});

test('a wait doubles with each failure in a row, up to its limit, however many there were', () => {
  const waits = [1, 2, 3, 8, 9, 1000].map(failures => doubledMs({ minMs: 250, maxMs: 60_000 }, failures));
  assert.deepEqual(waits, [250, 500, 1000, 32_000, 60_000, 60_000]);
});
