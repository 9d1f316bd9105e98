import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { upperShare } from '../../src/lib/binomial.js';
import { dailySample, sampleSize } from '../../src/db/truth/sample-size.js';
import { Reservoir } from '../../src/scan/sample.js';

describe('the sample of an audit', () => {
  it('is of 59 urls, or all, until something silent is found, and then as large as ± 5 points need', () => {
    assert.deepEqual([sampleSize(10, 0), sampleSize(59, 0), sampleSize(1e6, 0)], [10, 59, 59]);
    assert.deepEqual([sampleSize(10, 1), sampleSize(500, 1), sampleSize(1e6, 1)], [10, 218, 385]);
    assert.ok(upperShare(0, sampleSize(1e6, 0)) < 0.05);
    assert.deepEqual([dailySample(10), dailySample(5900), dailySample(100_000)], [59, 59, 1000]);
  });

  it('has each url as often as any other', () => {
    const counts = Array.from({ length: 50 }, () => 0);
    for (let round = 0; round < 4000; round++) {
      const reservoir = new Reservoir(5);
      for (let id = 0; id < counts.length; id++) reservoir.add(id);
      for (const id of reservoir.ids) counts[id] = (counts[id] ?? 0) + 1;
    }
    // 400 on average, a deviation of 19.
    for (const count of counts) assert.ok(count > 290 && count < 510, counts.join(' '));
  });

  it('finds something in at least 95 of 100 audits of a site of which 5 % are silent', () => {
    const held = 2000;
    let missed = 0;
    for (let audit = 0; audit < 10_000; audit++) {
      let isMissed = true;
      // Without replacement, as the reservoir draws: the first 5 % are the silent ones.
      const silent = held / 20;
      for (let drawn = 0, left = held; drawn < sampleSize(held, 0); drawn++, left--)
        if (Math.random() * left < silent) {
          isMissed = false;
          break;
        }
      if (isMissed) missed++;
    }
    assert.ok(missed / 10_000 < 0.055, `${missed} of 10,000 found none`);
  });

  it('is empty where nothing is to be drawn', () => {
    const none = new Reservoir(0);
    none.add(1);
    assert.deepEqual(none.ids, []);
  });
});
