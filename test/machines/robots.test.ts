/** A robot on a machine of its own: its link is cut, and nobody is told. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { noNginx } from '../support/nginx.js';
import { until } from '../support/until.js';
import { Cluster, type StoreMachine } from './support/cluster.js';
import { noMachines, type Machine } from './support/network.js';

const PAGES = Array.from({ length: 20 }, (_, i) => `page-${i}.html`);

describe('a robot on another machine', { skip: noMachines || noNginx }, () => {
  let cluster: Cluster;
  let store: StoreMachine;
  let farm: Machine;
  before(async () => {
    cluster = new Cluster({ relay: false, providers: 2 });
    store = cluster.addStore('m1', [], false);
    farm = cluster.addFarm('farm');
    await cluster.start();
    await cluster.startFarm(farm, store, 2);
  });
  after(() => cluster.remove());

  const untilSaid = async (pattern: RegExp) => {
    await until(`lccstat says ${String(pattern)}`, async () =>
      (await cluster.reasons(store.machine)).some(reason => pattern.test(reason)),
    );
  };

  it('loses its lanes to another when its link is cut, after it has stopped; lccstat names it before and after', async () => {
    const release = cluster.site.hold();
    await cluster.deliver(PAGES);
    await cluster.site.asked(farm);
    await until('2 requests wait', () => cluster.site.open.size === 2);
    farm.separate(store.machine);
    await cluster.startRobot(store.machine, 2, 'lccbot');
    await untilSaid(new RegExp(`^the robot ${farm.address}:\\d+ has not answered lccd-bm for \\d+ s: `));
    await cluster.site.asked(store.machine);
    assert.equal(cluster.site.mostAtOnce, 1);
    release();
    await cluster.untilIdle();
    assert.deepEqual(await cluster.faults(PAGES), []);
    assert.equal(cluster.site.mostAtOnce, 1);
    await untilSaid(
      new RegExp(`which has not come back: robot ${farm.address}:\\d+: silent for 3 intervals`),
    );
    assert.match(cluster.log(farm), /silent for 2 times the 0\.7 s it pings at/);
  });

  it('is given lanes again when its link is mended, and is not missed any more', async () => {
    farm.rejoin(store.machine);
    const isMissed = (reason: string) => /robot .* (not answered|not come back)/.test(reason);
    await until('it is not missed', async () => !(await cluster.reasons(store.machine)).some(isMissed));
    const release = cluster.site.hold();
    cluster.site.version++;
    await cluster.deliver(PAGES, 'mtime="1700000001"');
    await cluster.site.asked(farm);
    release();
    await cluster.untilIdle();
    assert.deepEqual(await cluster.faults(PAGES), []);
  });
});
