/** The owner of a home is cut off: from all, from the engine alone, from robots alone; and a standby whose node lags. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { noMachines, Network, type Machine } from '../machines/support/network.js';
import { KeptCluster } from '../support/cluster.js';
import type { KeptMachine } from '../support/kept-machine.js';
import { noGalera } from '../support/engine.js';
import { until } from '../support/until.js';

const LAG_MS = 5000;

describe('an owner that is cut off', { skip: noMachines || noGalera }, () => {
  const network = new Network();
  let cluster: KeptCluster;
  before(async () => {
    cluster = await KeptCluster.start({ network, engine: 'trio apart', callers: 6 });
  });
  after(async () => {
    await cluster.remove();
    network.remove();
  });
  beforeEach(async () => {
    await cluster.settled();
    cluster.site.forget();
    cluster.callers.start();
    await cluster.callers.after(performance.now());
  });

  /** The network of a machine, and of a node of the engine. */
  const linkOf = ({ link }: { link?: Machine | undefined }): Machine => {
    assert.ok(link);
    return link;
  };

  /** Resolves when another machine works; content providers still reach the UNS of the one that is cut off. */
  async function otherThan(owner: KeptMachine): Promise<void> {
    const cutMs = performance.now();
    await until('another machine has the home', async () => (await cluster.lease())?.owner !== owner.name);
    await cluster.secondsSince(cutMs);
  }

  async function allIsWell(): Promise<void> {
    await cluster.settled();
    assert.deepEqual(await cluster.faults(), []);
  }

  it('from everything: another goes on, and nothing that was acknowledged is lost', async () => {
    const owner = await cluster.owner();
    linkOf(owner).cut('silent');
    await otherThan(owner);
    linkOf(owner).mend();
    await allIsWell();
  });

  it('from the engine alone: it stops before another begins', async () => {
    const owner = await cluster.owner();
    const nodes = cluster.engine.nodes.map((_, i) => cluster.nodeLink(i));
    for (const node of nodes) linkOf(owner).separate(node);
    await otherThan(owner);
    for (const node of nodes) linkOf(owner).rejoin(node);
    await allIsWell();
  });

  it('from the robots of other machines alone: it stays the owner, and fetches itself', async () => {
    const owner = await cluster.owner();
    const lease = await cluster.lease();
    const others = cluster.machines.filter(machine => machine !== owner).map(linkOf);
    for (const other of others) linkOf(owner).separate(other);
    const cutMs = performance.now();
    await cluster.secondsSince(cutMs);
    for (const other of others) linkOf(owner).rejoin(other);
    await allIsWell();
    assert.deepEqual(await cluster.lease(), lease);
  });

  it('is not taken for dead by a standby whose node lags five seconds', async () => {
    const owner = await cluster.owner();
    const lease = await cluster.lease();
    const standby = cluster.machines.findIndex(machine => machine !== owner);
    const node = cluster.engine.nodes[standby];
    assert.ok(node);
    await node.query('set global wsrep_desync = 1');
    const connection = await node.connect();
    const heldMs = performance.now();
    await connection.query('flush tables with read lock');
    await until('it lags', () => performance.now() - heldMs > LAG_MS);
    await connection.query('unlock tables');
    await connection.end();
    await node.query('set global wsrep_desync = 0');
    await cluster.secondsSince(heldMs);
    assert.deepEqual(await cluster.lease(), lease);
    assert.deepEqual(await cluster.faults(), []);
  });
});
