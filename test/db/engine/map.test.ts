/** The map of providers, in a real engine. */
import assert from 'node:assert/strict';
import { before, beforeEach, describe, it } from 'node:test';
import { Engine } from '../../../src/db/engine/engine.js';
import { makeTables } from '../../../src/db/engine/home-rows.js';
import { ProviderMap } from '../../../src/db/engine/map.js';
import { engineAccount } from '../../../src/db/engine/nodes.js';
import { systemClock } from '../../../src/lib/clock.js';
import { silentLog } from '../../../src/lib/log.js';
import { Engine as TestEngine, noEngine, noGalera, TRIO } from '../../support/engine.js';
import { atEnd } from '../../support/at-end.js';
import { longIt } from '../../support/long.js';

const stop = new AbortController().signal;

const opened: Engine[] = [];
atEnd(() => {
  for (const engine of opened) engine.close();
});
/** The engine as a process of ours has it. @param first the node that it names first */
function open(test: TestEngine, first = 0, user: 'lcc' | 'lcc_admin' = 'lcc'): Engine {
  const url = test.url(first).replace('//lcc@', `//${user}@`);
  const account = engineAccount({ url, passwordFile: test.passwordFile(user), tlsCa: '', plain: false });
  const engine = new Engine(account, { clock: systemClock, log: silentLog });
  opened.push(engine);
  return engine;
}

async function started(options = {}): Promise<TestEngine> {
  const test = await TestEngine.start(options);
  await makeTables(open(test, 0, 'lcc_admin'), stop);
  return test;
}

/** Two homes take the same numbers in the same moment, in slices of a statement each. */
async function bothTake(one: ProviderMap, other: ProviderMap, from = 1): Promise<void> {
  const pids = Array.from({ length: 2500 }, (_, i) => from + i);
  const [a, b] = await Promise.all([one.take(pids, 0, stop), other.take(pids.toReversed(), 1, stop)]);
  assert.equal(a.taken.length + b.taken.length, pids.length);
  assert.deepEqual(
    [...a.taken, ...b.taken].sort((x, y) => x - y),
    pids,
    'each is one home’s',
  );
  assert.deepEqual([a.elsewhere.size, b.elsewhere.size], [b.taken.length, a.taken.length]);
  // The quicker one may have them all.
  for (const [{ elsewhere }, home] of [
    [a, 1],
    [b, 0],
  ] as const)
    assert.ok([...elsewhere.values()].every(owner => owner === home));
}

describe('the map of providers', { skip: noEngine }, () => {
  let test: TestEngine;
  let map: ProviderMap;
  before(async () => {
    test = await started();
    map = new ProviderMap(open(test));
  });
  beforeEach(async () => {
    for (const table of ['pmdb', 'home', 'move']) await test.node.query(`delete from lcc.${table}`);
  });

  it('gives a number to one of two homes that take it at once', async () => {
    await bothTake(map, new ProviderMap(open(test)));
  });

  it('gives a number again to the home that has it, and to another once it is free', async () => {
    assert.deepEqual(await map.take([5, 6], 0, stop), { taken: [5, 6], elsewhere: new Map() });
    assert.deepEqual(await map.take([5], 0, stop), { taken: [], elsewhere: new Map() });
    assert.deepEqual((await map.take([5], 1, stop)).elsewhere, new Map([[5, 0]]));
    await map.free([5, 6], 1, stop);
    assert.equal((await map.find([5, 6], stop)).size, 2, 'another home frees none');
    await test.node.query("update lcc.pmdb set state = 'moving' where pid = 6");
    await map.free([5, 6], 0, stop);
    assert.deepEqual(await map.find([5, 6, 7], stop), new Map([[6, { shard: 0, state: 'moving' }]]));
    assert.deepEqual((await map.take([5], 1, stop)).taken, [5]);
  });

  it('finds the lowest numbers that no home has', async () => {
    await map.take([1, 2, 4], 1, stop);
    assert.deepEqual(await map.firstFree(1, 1_000_000, 3, stop), [3, 5, 6]);
    assert.deepEqual(await map.firstFree(1, 4, 3, stop), [3]);
  });

  it('tells homes with what they have', async () => {
    await test.node.query("insert into lcc.home values (0, 'u', 3, 'h1', 1), (7, 'u', 1, '', 0)");
    await map.take([1, 2], 0, stop);
    await test.node.query("update lcc.pmdb set state = 'moving' where pid = 2");
    assert.deepEqual(await map.homes(stop), [
      { shard: 0, epoch: 3, owner: 'h1' },
      { shard: 7, epoch: 1, owner: '' },
    ]);
    const home = { shard: 7, epoch: 1, owner: '', isOpen: false, providers: 0, moving: 0 };
    assert.deepEqual(await map.list(stop), [
      { shard: 0, epoch: 3, owner: 'h1', isOpen: true, providers: 2, moving: 1 },
      home,
    ]);
    assert.equal(await map.setOpen(7, true, stop), true);
    assert.equal(await map.setOpen(7, true, stop), true, 'again');
    assert.deepEqual((await map.list(stop))[1], { ...home, isOpen: true });
    assert.equal(await map.setOpen(8, true, stop), false);
  });
});

describe('the map of providers in a trio', { skip: noGalera }, () => {
  longIt('gives a number to one of two homes that take it at two nodes at once', async () => {
    const test = await started({ hosts: TRIO });
    try {
      for (let round = 0; round < 20; round++) {
        // Further numbers: those of the round before may not have come to each node yet.
        const from = 10_000 * round + 1;
        await bothTake(new ProviderMap(open(test, 1)), new ProviderMap(open(test, 2)), from);
      }
    } finally {
      await test.remove();
    }
  });
});
