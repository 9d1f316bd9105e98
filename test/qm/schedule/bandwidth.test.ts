import fc from 'fast-check';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Meter } from '../../../src/qm/schedule/bandwidth.js';

const DAY = 86_400_000;

test('the next fetch is due when what is expected has been paid, and the result corrects it', () => {
  const meter = new Meter(1000, 0, DAY);
  meter.charge(2000, 10_000);
  assert.equal(meter.dueMs, 12_000);
  meter.received(2000, 500, 10_100);
  assert.equal(meter.dueMs, 10_500);
  meter.charge(meter.expected(600), 10_500);
  assert.equal(meter.dueMs, 11_500);
  meter.refund(1000);
  assert.equal(meter.dueMs, 10_500);
});

test('without a limit nothing is counted', () => {
  const meter = new Meter(0, 0, DAY);
  meter.charge(1e9, 5);
  meter.received(1e9, 1e12, 6);
  assert.equal(meter.dueMs, -Infinity);
  assert.equal(meter.isLimited, false);
});

test('what a url of unknown length needs is learnt from those before', () => {
  const meter = new Meter(1000, 0, DAY);
  for (let i = 0; i < 50; i++) meter.received(0, 3000, 0);
  assert.ok(Math.abs(meter.expected(null) - 3000) < 10);
});

test('no fetch makes anybody wait longer than the longest wait', () => {
  const meter = new Meter(1, 0, DAY);
  meter.charge(1e12, 7);
  assert.equal(meter.dueMs, DAY + 7);
});

test('what is expected of fetches under way is never written down, but the time that they have had is', () => {
  const meter = new Meter(1000, 0, DAY);
  meter.charge(60_000, 10_000);
  assert.equal(meter.dueMs, 70_000);
  assert.equal(meter.settledMs(10_000), 10_000);
  assert.equal(meter.settledMs(15_000), 15_000);
  assert.equal(meter.settledMs(100_000), 70_000);
  meter.received(60_000, 90_000, 15_000);
  assert.equal(meter.settledMs(15_000), 100_000);
});

test('what nobody knows the end of costs what the limit lets through in the time that it had, and no more than was expected', () => {
  for (const [lostMs, dueMs] of [
    [15_000, 15_000],
    [100_000, 70_000],
  ] as const) {
    const meter = new Meter(1000, 0, DAY);
    meter.charge(60_000, 10_000);
    meter.lost(60_000, 10_000, lostMs);
    assert.equal(meter.dueMs, dueMs);
  }
});

test('another limit makes what is to be paid take another time', () => {
  const meter = new Meter(1000, 0, DAY);
  meter.charge(100_000, 0);
  meter.received(100_000, 100_000, 0);
  meter.limit(10_000, 20_000);
  assert.equal(meter.dueMs, 28_000);
  meter.limit(0, 21_000);
  meter.limit(1, 22_000);
  assert.ok(meter.dueMs <= 22_000, 'nothing is owed of a time without a limit');
});

test('whatever is fetched and however long it takes, no 60 s have more than 5 % too much, besides what their last fetch brings', () => {
  const fetches = fc.array(
    fc.record({
      bytes: fc.integer({ min: 1, max: 1200 }),
      tookMs: fc.oneof({ weight: 9, arbitrary: fc.constant(1) }, fc.integer({ min: 1, max: 3000 })),
      idleMs: fc.oneof({ weight: 49, arbitrary: fc.constant(0) }, fc.constantFrom(5000, 100_000)),
    }),
    { minLength: 100, maxLength: 300 },
  );
  fc.assert(
    fc.property(fetches, all => {
      const meter = new Meter(1000, 0, DAY);
      const sent: { atMs: number; bytes: number }[] = [];
      let nowMs = 0;
      for (const { bytes, tookMs, idleMs } of all) {
        nowMs = Math.max(nowMs + idleMs, meter.dueMs);
        const expected = meter.expected(null);
        meter.charge(expected, nowMs);
        sent.push({ atMs: nowMs, bytes });
        nowMs += tookMs;
        meter.received(expected, bytes, nowMs);
      }
      sent.forEach(({ atMs }, index) => {
        const minute = sent.slice(index).filter(fetch => fetch.atMs < atMs + 60_000);
        const [last] = minute.splice(-1);
        const bytes = minute.reduce((sum, fetch) => sum + fetch.bytes, 0);
        // How much more the last one brings nobody knows when it begins, if all before it were small.
        assert.ok(bytes <= 62_500, `${bytes} bytes, and then ${last?.bytes}, in the minute from ${atMs}`);
      });
    }),
  );
});
