import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LccError } from '../../src/lib/errors.js';
import { healthOf, type HealthOptions } from '../../src/rs/health.js';

const fine: HealthOptions = {
  db: { read: look => look(), outbox: { count: () => 0 } },
  door: { isThere: () => Promise.resolve(true) },
  ask: () => Promise.resolve({}),
  clock: { monotonicMs: () => 0 },
};

test('nothing is wrong where both sockets answer and the database is read; else what does not is named', async () => {
  const unread = () => {
    throw new LccError('io', 'disk I/O error');
  };
  const looks: [string[], Partial<HealthOptions>][] = [
    [[], {}],
    [['the Queue Manager is away'], { ask: () => Promise.resolve(undefined) }],
    [['the UNS is away'], { door: { isThere: () => Promise.resolve(false) } }],
    [['rs.db cannot be read'], { db: { ...fine.db, read: unread } }],
  ];
  for (const [troubles, parts] of looks) assert.deepEqual(await healthOf({ ...fine, ...parts })(), troubles);
});

test('whoever asks meanwhile, and for a moment after, shares one look', async () => {
  let [looks, nowMs] = [0, 0];
  const ask = () => Promise.resolve(++looks);
  const health = healthOf({ ...fine, ask, clock: { monotonicMs: () => nowMs } });
  await Promise.all([health(), health()]);
  nowMs = 999;
  await health();
  assert.equal(looks, 1);
  nowMs = 1000;
  await health();
  assert.equal(looks, 2);
});
