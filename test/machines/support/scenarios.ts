/** What must hold over several machines, however they are joined. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { noNginx } from '../../support/nginx.js';
import { until } from '../../support/until.js';
import { Cluster, type StoreMachine } from './cluster.js';
import { noMachines, type Cut } from './network.js';
import { longIt } from '../../support/long.js';

const PAGES = Array.from({ length: 30 }, (_, i) => `page-${i}.html`);
const PROVIDERS = 6;

/**
 * Tests of an LCC on machines of its own: `m1` with two robots of two slots each, over plain TCP; `m2` with one of two,
 * over TLS.
 * @param cuts ways in which the link of m1 fails while it works
 */
export function survivesMachines(what: string, options: { relay: boolean; cuts: readonly Cut[] }): void {
  const skip = noMachines || noNginx;
  describe(what, { skip }, () => {
    let cluster: Cluster;
    let m1: StoreMachine;
    let m2: StoreMachine;
    before(async () => {
      cluster = new Cluster({ relay: options.relay, providers: PROVIDERS });
      m1 = cluster.addStore('m1', [2, 2], false);
      m2 = cluster.addStore('m2', [2], true);
      await cluster.start();
    });
    after(() => cluster.remove());

    /** The pages are other ones now, and the LCC is told. */
    const change = async () => {
      cluster.site.version++;
      await cluster.deliver(PAGES, `mtime="${1_700_000_000 + cluster.site.version}"`);
    };
    const untilFreed = () =>
      until('no deletion waits', async () => {
        const { freed_waiting: waiting, freed_pages_spooled: spooled } = await cluster.status();
        return waiting === 0 && spooled === 0;
      });

    it('warns of plain text beyond loopback', () => {
      assert.match(cluster.log(cluster.lcc), /listening without TLS beyond loopback.*:9010/);
    });

    it('fetches on all machines, as their slots are, one url of a provider at a time', async () => {
      cluster.site.latencyMs = 10;
      // All providers wait at the same time: what is spread are their lanes.
      const release = cluster.site.hold();
      await cluster.deliver(PAGES);
      await until(
        'all is queued',
        async () => (await cluster.status())['rows_queued'] === PROVIDERS * PAGES.length,
      );
      release();
      await cluster.untilIdle();
      assert.deepEqual(await cluster.faults(PAGES), []);
      assert.equal(cluster.site.mostAtOnce, 1);
      const held = await cluster.held();
      const fetchedBy = (id: string) => held.filter(row => row.fetched_machineid === id).length;
      const share = fetchedBy('m1') / fetchedBy('m2');
      // Two to one. Wide enough for a computer that is busy, too narrow for machines that are treated alike.
      assert.ok(share > 1.2 && share < 4, `${share}`);
      cluster.site.latencyMs = 0;
    });

    it('shows on each machine the files that it holds', async () => {
      const held = await cluster.held();
      for (const { machine } of [m1, m2]) {
        const shown = (await cluster.runAs(machine, 'lccq', '--format=paths')).trimEnd().split('\n');
        const its = held.filter(row => row.fetched_machineid === machine.name);
        assert.deepEqual(shown.toSorted(), its.map(row => cluster.pathOf(row)).toSorted());
        assert.ok(shown.every(path => existsSync(path)));
      }
    });

    for (const cut of options.cuts) {
      longIt(`gives the work of a machine whose link is ${cut} to the other, and takes it back`, async () => {
        const release = cluster.site.hold();
        await change();
        await cluster.site.asked(m1.machine, m2.machine);
        m1.machine.cut(cut);
        await cluster.untilHere('m2');
        release();
        await cluster.untilIdle();
        assert.deepEqual(await cluster.faults(PAGES), []);
        m1.machine.mend();
        await cluster.untilHere('m1', 'm2');
        await untilFreed();
        await change();
        await cluster.untilIdle();
        assert.deepEqual(await cluster.faults(PAGES), []);
        assert.ok((await cluster.held()).some(row => row.fetched_machineid === 'm1'));
      });
    }

    longIt(
      'goes on without a machine that lost its power; its files are deleted when it is back',
      async () => {
        const before = (await cluster.held()).filter(row => row.fetched_machineid === 'm1');
        assert.ok(before.length > 10);
        const release = cluster.site.hold();
        await change();
        await cluster.site.asked(m1.machine, m2.machine);
        m1.machine.kill();
        await cluster.untilHere('m2');
        release();
        await cluster.untilIdle();
        assert.deepEqual(await cluster.faults(PAGES), []);
        assert.deepEqual(
          (await cluster.held()).filter(row => row.fetched_machineid === 'm1'),
          [],
          'updates go to another machine than the one that has the old file',
        );
        await until(
          'deletions are spooled',
          async () => Number((await cluster.status())['freed_pages_spooled']) > 0,
        );
        assert.ok(before.every(row => existsSync(cluster.pathOf(row))));
        await cluster.startStore(m1);
        await untilFreed();
        await until('files are deleted', () => !before.some(row => existsSync(cluster.pathOf(row))));
        assert.deepEqual(await cluster.faults(PAGES), []);
        await cluster.untilHere('m1', 'm2');
      },
    );

    longIt('finds everything again when the machine of the Queue Manager lost its power', async () => {
      const release = cluster.site.hold();
      await change();
      await cluster.site.asked(m1.machine, m2.machine);
      cluster.lcc.kill();
      // Who comes next may give a provider to the other machine: nobody goes on asking for nobody.
      await until('no request is open', () => cluster.site.open.size === 0);
      cluster.site.forget();
      release();
      await cluster.startLcc();
      await cluster.untilHere('m1', 'm2');
      await cluster.untilIdle();
      assert.deepEqual(await cluster.faults(PAGES), []);
      assert.equal(cluster.site.mostAtOnce, 1);
    });

    if (options.relay) {
      it('goes on when the machine of the relay lost its power and is back', async () => {
        const release = cluster.site.hold();
        await change();
        await cluster.site.asked(m1.machine, m2.machine);
        cluster.hub.kill();
        await cluster.untilHere();
        await until('no request is open', () => cluster.site.open.size === 0);
        release();
        await cluster.startRelay();
        await cluster.untilHere('m1', 'm2');
        await cluster.untilIdle();
        assert.deepEqual(await cluster.faults(PAGES), []);
      });
    }
  });
}
