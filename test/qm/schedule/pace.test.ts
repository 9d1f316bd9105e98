import fc from 'fast-check';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pace } from '../../../src/qm/schedule/pace.js';

const DAY = 86_400_000;

test('the next fetch is due when what is expected has been paid, and the result corrects it', () => {
  const pace = new Pace(1000, 0, DAY);
  pace.charge(2000, 10_000);
  assert.equal(pace.dueMs, 12_000);
  pace.correct(2000, 500, 10_100);
  assert.equal(pace.dueMs, 10_500);
  pace.charge(pace.expected(600), 10_500);
  assert.equal(pace.dueMs, 11_500);
  pace.refund(1000, 10_600);
  assert.equal(pace.dueMs, 10_500);
});

test('without a limit nothing is counted', () => {
  const pace = new Pace(0, 0, DAY);
  pace.charge(1e9, 5);
  pace.correct(1e9, 1e12, 6);
  assert.equal(pace.dueMs, 0);
  assert.equal(pace.isLimited, false);
});

test('what a url of unknown length needs is learnt from those before', () => {
  const pace = new Pace(1000, 0, DAY);
  for (let i = 0; i < 50; i++) pace.correct(0, 3000, 0);
  assert.ok(Math.abs(pace.expected(null) - 3000) < 10);
});

test('no fetch makes anybody wait longer than the longest wait', () => {
  const pace = new Pace(1, 0, DAY);
  pace.charge(1e12, 7);
  assert.equal(pace.dueMs, DAY + 7);
});

test('whatever is fetched and however long it takes, no 60 s have more than 5 % too much', () => {
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
      const pace = new Pace(1000, 0, DAY);
      const sent: { atMs: number; bytes: number }[] = [];
      let nowMs = 0;
      for (const { bytes, tookMs, idleMs } of all) {
        nowMs = Math.max(nowMs + idleMs, pace.dueMs);
        const expected = pace.expected(null);
        pace.charge(expected, nowMs);
        sent.push({ atMs: nowMs, bytes });
        nowMs += tookMs;
        pace.correct(expected, bytes, nowMs);
      }
      sent.forEach(({ atMs }, index) => {
        let bytes = 0;
        for (let i = index; i < sent.length && (sent[i]?.atMs ?? 0) < atMs + 60_000; i++)
          bytes += sent[i]?.bytes ?? 0;
        // The last one counts whole, although most of it comes later.
        assert.ok(bytes <= 63_000, `${bytes} bytes in the minute from ${atMs}`);
      });
    }),
  );
});
