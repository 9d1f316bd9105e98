/** Providers that announce lengths which do not come keep nobody waiting, whether or not their queue is empty in between. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomFrom, Simulation } from './simulation.js';
import { ok, url } from './support.js';

for (const [howMany, liars] of [
  ['a provider that announces too much, one url at a time, leaves', 1],
  ['three of them leave', 3],
] as const)
  test(`${howMany} the others their bandwidth, though its queue is empty in between`, async t => {
    const sim = new Simulation({
      workerSlots: 16,
      lanes: { overbookPercent: 25, turn: 32 },
      random: randomFrom(5),
      bandwidthBytesPerS: 1_000_000,
      site: (request, pid) => ({
        result: ok(request.url, { wireBytes: pid === 1 ? 200_000 : 100, fileId: request.url }),
        tookMs: pid === 1 ? 5 : 900,
      }),
    });
    t.after(() => sim.close());
    for (let pid = 1; pid <= 1 + liars; pid++) sim.bench.provider(pid);
    sim.start();
    await sim.send(
      1,
      Array.from({ length: 1000 }, (_, i) => url(`1/${i}`)),
    );
    let sent = 0;
    const lie = async () => {
      for (let pid = 2; pid <= 1 + liars; pid++)
        await sim.send(pid, [url(`${pid}/${sent}`, { len: '10000000' })]);
      sent++;
    };
    for (let s = 0; s < 60; s++) {
      await lie();
      await sim.pass(1000);
    }
    const of = (isHonest: boolean) => sim.fetches.filter(({ pid }) => (pid === 1) === isHonest);
    assert.ok(
      of(false).length >= 50 * liars,
      `${of(false).length} of ${sent * liars} are fetched: each queue is empty again`,
    );
    const bytes = of(true).reduce((sum, fetch) => sum + fetch.bytes, 0);
    assert.ok(bytes > 0.9 * 60_000_000, `${bytes} bytes in a minute`);
  });
