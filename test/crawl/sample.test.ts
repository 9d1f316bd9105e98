import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { upperShare } from '../../src/lib/binomial.js';
import { dailySample, sampleSize } from '../../src/db/truth/sample-size.js';
import { audit, Reservoir } from '../../src/crawl/audit.js';
import { randomFrom } from '../qm/simulation.js';

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

  it('finds something in at least 95 of 100 audits of a site of which 5 % are silent', async () => {
    const held = 1000;
    // The audit itself, over rows of which the first 5 % are the silent ones.
    const reader = {
      auditProviders: () => [{ pid: 1, held, settled: 0, silent: 0, open: 0, today: 0 }],
      *announced() {
        for (let id = 0; id < held; id++) yield [id, 1, 0] as [number, number, number];
      },
      url: (id: number) => ({
        pid: 1,
        curl: `${id}`,
        mimetype: 'text/html',
        furl: null,
        served: 0 as const,
        hops: null,
      }),
      isWaiting: () => false,
    };
    // A generator that can be repeated stands for the secret numbers; what is tested is the draw.
    const random = randomFrom(19);
    const options = { pids: new Set<number>(), limit: undefined, perDay: 100, percentPerDay: 2 };
    let missed = 0;
    for (let one = 0; one < 10_000; one++) {
      let drawn = 0;
      let found = 0;
      const add = ({ curl }: { curl: string }) => {
        drawn++;
        if (Number(curl) < held / 20) found++;
      };
      const sink = { add, finish: () => Promise.resolve() };
      await audit(reader, sink, options, 1e9, below => Math.floor(random() * below));
      assert.equal(drawn, 59);
      if (found === 0) missed++;
    }
    assert.ok(missed / 10_000 <= 0.05, `${missed} of 10,000 found none`);
  });

  it('is empty where nothing is to be drawn', () => {
    const none = new Reservoir(0);
    none.add(1);
    assert.deepEqual(none.ids, []);
  });
});
