import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatAmount, parseAmount } from '../../src/config/amounts.js';

test('amounts are written in the largest unit that keeps them whole', () => {
  assert.equal(formatAmount(64 * 1024, 'bytes'), '64 KB');
  assert.equal(formatAmount(64 * 1024 + 1, 'bytes'), '65537 bytes');
  assert.equal(formatAmount(2 * 1024 ** 3, 'bytes'), '2 GB');
  assert.equal(formatAmount(0, 'bytes'), '0 bytes');
  assert.equal(formatAmount(1, 'bytes'), '1 byte');
  assert.equal(formatAmount(1024, 'bytes_per_s'), '1 KB/s');
  assert.equal(formatAmount(90_000, 'ms'), '90 s');
  assert.equal(formatAmount(120_000, 'ms'), '2 min');
  assert.equal(formatAmount(86_400_000, 'ms'), '1 d');
  assert.equal(formatAmount(1, 'ms'), '1 ms');
  assert.equal(formatAmount(25, 'percent'), '25 %');
  assert.equal(formatAmount(8000, 'count'), '8000');
});

test('an amount that is printed is read back as it was', () => {
  const unit = fc.constantFrom('ms', 'bytes', 'bytes_per_s', 'percent', 'count');
  fc.assert(
    fc.property(unit, fc.maxSafeNat(), (one, value) =>
      assert.equal(parseAmount(formatAmount(value, one), one), value),
    ),
  );
});
