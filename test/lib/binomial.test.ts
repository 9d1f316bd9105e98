import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { lowerShare, upperShare } from '../../src/lib/binomial.js';

describe('a share that a sample shows', () => {
  it('is bounded as in the tables of Clopper and Pearson', () => {
    const near = (value: number, expected: number) =>
      assert.ok(Math.abs(value - expected) < 5e-5, `${value}, expected ${expected}`);
    near(upperShare(0, 59), 0.0495);
    near(upperShare(0, 10), 1 - 0.05 ** (1 / 10));
    near(upperShare(1, 10), 0.3942);
    near(upperShare(5, 20), 0.4556);
    near(lowerShare(5, 20), 0.1041);
    near(lowerShare(10, 10), 0.05 ** (1 / 10));
  });

  it('is anything where nothing is known', () => {
    assert.deepEqual([lowerShare(0, 0), upperShare(0, 0)], [0, 1]);
    assert.deepEqual([lowerShare(0, 5), upperShare(5, 5)], [0, 1]);
  });

  it('lies between its bounds, which come nearer with the sample', () => {
    for (const sample of [10, 100, 1000]) {
      const hits = sample / 10;
      assert.ok(lowerShare(hits, sample) < 0.1 && upperShare(hits, sample) > 0.1);
    }
    assert.ok(upperShare(100, 1000) < upperShare(10, 100));
  });
});
