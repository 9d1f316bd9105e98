/** Time goes on unevenly: an engine that stands still for longer than a lease, machines whose clocks are hours apart, one that jumps. */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { KeptCluster } from '../support/cluster.js';
import { noEngine } from '../support/engine.js';
import { until } from '../support/until.js';

const FREEZES = Number(process.env['LCC_TEST_FREEZES'] ?? 2);
const FROZEN_MS = 20_000;
const HOUR_MS = 3_600_000;
const JUMPS = 20;

describe('a kept home', { skip: noEngine }, () => {
  let cluster: KeptCluster;
  afterEach(() => cluster.remove());

  it(`keeps its owner when the engine is frozen for twenty seconds, ${FREEZES} times`, async () => {
    cluster = await KeptCluster.start({ callers: 4 });
    const lease = await cluster.lease();
    cluster.callers.start();
    for (let n = 0; n < FREEZES; n++) {
      await cluster.callers.after(performance.now());
      const frozenMs = performance.now();
      cluster.engine.node.freeze();
      await until('twenty seconds have passed', () => performance.now() - frozenMs > FROZEN_MS);
      assert.ok(cluster.callers.errors.has('102'), 'content providers are told to come again');
      const resumedMs = performance.now();
      cluster.engine.node.thaw();
      await cluster.secondsSince(resumedMs);
      assert.deepEqual(await cluster.lease(), lease);
    }
    assert.deepEqual(await cluster.faults(), []);
  });

  it('is taken over by a machine whose clock is an hour behind, and keeps its owner when a clock jumps', async () => {
    cluster = await KeptCluster.start({ callers: 4, clocksMs: [0, -HOUR_MS, HOUR_MS] });
    cluster.callers.start();
    const lease = await cluster.lease();
    for (let n = 1; n <= JUMPS; n++) {
      for (const machine of cluster.machines) machine.setClock(n % 2 === 0 ? -HOUR_MS : HOUR_MS * n);
      await cluster.secondsSince(performance.now());
    }
    assert.deepEqual(await cluster.lease(), lease);
    const owner = await cluster.owner();
    await owner.killLccd();
    await cluster.secondsSince(performance.now());
    assert.notEqual(await cluster.owner(), owner);
    await owner.start();
    await cluster.settled();
    assert.deepEqual(await cluster.faults(), []);
  });
});
