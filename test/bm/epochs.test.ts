/** Owners of a home, one after the other: a Bot Manager does nothing for an earlier one. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { branchHello, Far, fetch, HELLO, PING, RelayWorld, World } from './support.js';

const fetches = (lines: string[]) => lines.filter(line => line.startsWith('<fetch')).length;
const greeting = (epoch: number) => `<lococa:qm epoch="${epoch}"/>`;

describe('a Bot Manager of a home that several machines may own', () => {
  it('serves the owner that connects, and later ones, and none before them', async () => {
    const world = new World();
    const robot = await world.robot(4);
    const first = world.source();
    await first.say(greeting(7) + fetch(1));
    assert.equal(fetches(await robot.hear()), 1);
    const next = world.source();
    await next.say(greeting(8) + fetch(2));
    await robot.hear();
    for (const late of [greeting(7) + fetch(3), fetch(3)]) {
      const old = world.source();
      await old.say(late);
      assert.equal(fetches(await robot.hear()), 0, late);
      const [, refusal = ''] = await old.hear();
      assert.match(refusal, /another machine has owned the home since \(8\)/);
    }
    const same = world.source();
    await same.say(greeting(8) + fetch(4));
    assert.equal(fetches(await robot.hear()), 1);
    assert.deepEqual(await same.hear(), [HELLO(4)]);
    await world.stop();
  });

  it('serves any source where none says an epoch', async () => {
    const world = new World();
    const robot = await world.robot(2);
    for (const id of [1, 2]) await world.source().say(fetch(id));
    assert.equal(fetches(await robot.hear()), 2);
    await world.stop();
  });
});

describe('a relay of such a home', () => {
  it('tells those below who asks, at first and when that changes', async () => {
    const world = new RelayWorld();
    const early = await world.branch(2, 'm1');
    await world.source().say(greeting(3));
    assert.deepEqual(await early.hear(), [greeting(3)]);
    const late = new Far(stream => world.relay.branch(stream, 'bot manager of m2'));
    await late.say(branchHello(2, 'm2', 's2'));
    assert.deepEqual((await late.hear()).toSorted(), [greeting(3), PING].toSorted());
    await world.source().say(greeting(4) + fetch(1, '1.1'));
    for (const branch of [early, late]) assert.equal((await branch.hear())[0], greeting(4));
    await world.source().say(greeting(4));
    assert.ok(!(await early.hear()).includes(greeting(4)), 'once each');
    await world.stop();
  });
});
