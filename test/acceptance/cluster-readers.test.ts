/** A content user that goes on from machine to machine with its cursor, through takeovers: in the end it has what there is. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { KeptCluster } from '../support/cluster.js';
import { noGalera } from '../support/engine.js';
import { until } from '../support/until.js';

const ROUNDS = 15;

describe('a content user of three machines', { skip: noGalera }, () => {
  let cluster: KeptCluster;
  before(async () => {
    cluster = await KeptCluster.start({ engine: 'trio', callers: 6 });
  });
  after(() => cluster.remove());

  it('has by its cursor what a new one is told, after lost nodes and ten takeovers', async () => {
    const mirror = new Map<string, string>();
    const cursor = join(cluster.dir, 'cursor');
    const over = new AbortController();
    let rounds = 0;
    const read = async (n: number): Promise<boolean> => {
      const machine = cluster.machines[n % cluster.machines.length];
      const query = 'lccq --format=jsonl --fields=op,id,curl,md5';
      const { status, stdout } = (await machine?.sh(`${query} --cursor=${cursor}`)) ?? {};
      if (status !== 0) return false;
      for (const line of (stdout ?? '').split('\n').filter(Boolean)) {
        const { op, id, curl, md5 } = JSON.parse(line) as Record<string, string>;
        if (op === 'delete') mirror.delete(String(id));
        else mirror.set(String(id), `${curl} ${md5}`);
      }
      rounds++;
      return true;
    };
    const loop = (async () => {
      for (let n = 0; !over.signal.aborted; n++) await read(n);
    })();
    cluster.callers.start();
    for (let n = 0; n < ROUNDS; n++) {
      const owner = await cluster.settled();
      await cluster.callers.after(performance.now());
      const node = cluster.machines.find(machine => machine !== owner)?.node;
      if (n % 3 === 0) await node?.kill();
      else await owner.kill();
      await cluster.secondsSince(performance.now());
      const seen = rounds;
      await until('the content user has read since', () => rounds > seen);
      if (n % 3 === 0) await node?.start();
      else {
        await owner.node?.start();
        await owner.start();
      }
    }
    await cluster.settled();
    assert.deepEqual(await cluster.faults(), []);
    over.abort();
    await loop;
    const owner = await cluster.owner();
    await until('it has read all', () => read(cluster.machines.indexOf(owner)));
    const fresh = (await owner.run('lccq --format=jsonl --fields=op,id,curl,md5'))
      .split('\n')
      .filter(Boolean);
    const wanted = fresh.map(line => JSON.parse(line) as Record<string, string>);
    assert.deepEqual(
      mirror,
      new Map(wanted.map(({ id, curl, md5 }) => [String(id), `${curl} ${md5}`] as const)),
    );
  });
});
