import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Retries } from '../../src/qm/retries.js';
import { InOrder } from '../../src/qm/schedule/in-order.js';
import type { FetchFailed } from '../../src/wire/fetch.js';
import { ManualClock } from '../support/manual-clock.js';

const FAILED: FetchFailed = {
  id: 1,
  status: 'error',
  code: 503,
  message: '',
  reach: 'url',
  wireBytes: 0,
  elapsedMs: 0,
};
const RULES = { retryDelayMs: 10_000, backoff: { minMs: 10_000, maxMs: 86_400_000 } };

test('the wait before a retry doubles with each try, up to that of a site that does not answer', () => {
  const retries = new Retries({ ...RULES, clock: new ManualClock() }, () => undefined);
  const waitsMs = (code: number) => [1, 2, 6, 30].map(tries => retries.waitMs(tries, { ...FAILED, code }));
  assert.deepEqual(waitsMs(503), [10_000, 20_000, 320_000, 86_400_000]);
  assert.deepEqual(waitsMs(613), [10_000, 20_000, 320_000, 320_000], 'room comes back unasked');
});

test('people are told to the millisecond when urls are tried again, and nothing of what was told to try at once', () => {
  const clock = new ManualClock();
  const orders = new Map(
    [7, 8].map(pid => {
      const wakes = new InOrder<number>();
      return [pid, { wakes, nextDueMs: () => wakes.first()?.at }];
    }),
  );
  const retries = new Retries({ ...RULES, clock }, pid => orders.get(pid));
  assert.deepEqual([retries.soonestAtMs(), retries.times(10)], [null, []]);
  const inMs = new Map([
    [7, 5_000_017],
    [8, 9_000_017],
  ]);
  for (const [pid, order] of orders) {
    order.wakes.set(1, clock.monotonicMs() + (inMs.get(pid) ?? 0));
    retries.plan({ order, provider: { pid } });
  }
  const at = (pid: number) => clock.nowMs() + (inMs.get(pid) ?? 0);
  assert.equal(retries.soonestAtMs(), at(7));
  assert.deepEqual(retries.times(10), [
    [7, at(7)],
    [8, at(8)],
  ]);
  assert.deepEqual(retries.times(1), [[7, at(7)]]);
  orders.get(7)?.wakes.delete(1);
  assert.equal(retries.soonestAtMs(), at(8));
  assert.deepEqual(retries.times(10), [[8, at(8)]]);
});
