import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { truthOf, weightOf, type TruthCounts } from '../../../src/db/truth/score.js';

const NONE: TruthCounts = { changed: 0, same: 0, failed: 0, audited: 0, silent: 0, late: 0 };
const score = (counts: Partial<TruthCounts>) => truthOf({ ...NONE, ...counts }).score;

describe('the score of a provider', () => {
  it('is 80 where nothing is known', () => {
    assert.deepEqual(truthOf(NONE), { score: 80, precision: 0.8, recall: 0.8 });
  });

  it('is near 100 for an honest one, and falls with what cries, is silent, or both', () => {
    assert.equal(score({ changed: 1000, audited: 59 }), 99);
    assert.equal(score({ changed: 100, same: 900, audited: 59 }), 19);
    assert.equal(score({ changed: 1000, audited: 59, silent: 30 }), 68);
    assert.ok(score({ changed: 10, same: 90, audited: 59, silent: 30 }) < 25);
  });

  it('counts a late notice as half of a silent change, and failures as false words', () => {
    assert.equal(score({ audited: 100, late: 40 }), score({ audited: 100, silent: 20 }));
    assert.equal(score({ changed: 50, failed: 50 }), score({ changed: 50, same: 50 }));
  });

  it('halves what a day is worth in 30 days', () => {
    assert.deepEqual([weightOf(0), weightOf(30), weightOf(60), weightOf(-1)], [1, 0.5, 0.25, 1]);
  });
});
