/** Two machines of one LCC that bear the same bm.machine_id: rows of content would not tell whose store they are of. */
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { KeptCluster } from '../support/cluster.js';
import { startDaemon } from '../support/daemon.js';
import { noEngine } from '../support/engine.js';
import type { KeptMachine } from '../support/kept-machine.js';
import { within } from '../support/until.js';

describe('machines of one LCC', { skip: noEngine }, () => {
  let cluster: KeptCluster;
  before(async () => {
    cluster = await KeptCluster.start({ machines: 2, callers: 2 });
  });
  after(() => cluster.remove());

  it('are refused where two have the same bm.machine_id: the second in one line, and the first goes on', async () => {
    const [owner, other] = cluster.machines as [KeptMachine, KeptMachine];
    await other.stop();
    const path = join(other.home, 'lcc.toml');
    writeFileSync(path, readFileSync(path, 'utf8').replace('machine_id = "m2"', 'machine_id = "m1"'));
    // It has no store yet, as a new machine.
    rmSync(join(other.home, 'store'), { recursive: true });
    const lccd = startDaemon('lccd', other.home, [], other.env);
    assert.equal(await within('lccd ends', lccd.ended), 78);
    const said = lccd.log.split('\n').filter(line => /machine_id/.test(line));
    assert.equal(said.length, 1, lccd.log);
    assert.match(
      said[0] ?? '',
      /another machine of that id is connected|a second machine needs an id of its own/,
    );
    cluster.callers.start();
    await cluster.secondsSince(performance.now());
    assert.deepEqual(await cluster.faults(), []);
    assert.equal((await cluster.lease())?.owner, owner.name);
  });
});
