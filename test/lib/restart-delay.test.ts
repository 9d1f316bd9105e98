import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RestartDelay } from '../../src/lib/backoff.js';

test('each death doubles the delay up to the longest; one that lived longer than that begins with the shortest', () => {
  const delay = new RestartDelay(100, 500);
  assert.deepEqual(
    [0, 0, 0, 0, 500].map(livedMs => delay.afterDeath(livedMs)),
    [100, 200, 400, 500, 500],
  );
  assert.deepEqual(
    [501, 0].map(livedMs => delay.afterDeath(livedMs)),
    [100, 200],
  );
});
