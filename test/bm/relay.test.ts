import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { settle } from '../support/duplex.js';
import { branchHello, Far, fetch, numberOf, offered, PING, RelayWorld, stored } from './support.js';

const recalled = (id: number) => `<fetched id="${id}" status="recalled"/>`;
const asked = (lines: string[]) => lines.map(line => /h\/(\d+)/.exec(line)?.[1]).join(' ');
/** Ids and kinds of what the source is told. */
const told = (lines: string[]) => lines.map(line => line.split(' ', 3).join(' '));

describe('a relay', () => {
  it('says which machines and how many slots are below it, again whenever that changes', async () => {
    const world = new RelayWorld();
    const source = world.source();
    assert.deepEqual(await source.hear(), [offered(0, '')]);
    const one = await world.branch(4, 'm1');
    const below = await world.branch(6, 'm2 m3');
    assert.deepEqual(await source.hear(), [offered(4, 'm1'), offered(10, 'm1 m2 m3')]);
    await below.say(branchHello(3, 'm2 m4', 's2 s4'));
    assert.deepEqual(await source.hear(), [offered(7, 'm1 m2 m4')]);
    await one.leave();
    assert.deepEqual(await source.hear(), [offered(3, 'm2 m4')]);
    assert.deepEqual(await world.source().hear(), [offered(3, 'm2 m4')], 'a new source hears it at once');
    await world.stop();
  });

  it('spreads lanes as slots are, also while there are fewer lanes than slots', async () => {
    const world = new RelayWorld();
    const source = world.source();
    const big = await world.branch(8, 'm1');
    const small = await world.branch(4, 'm2');
    await source.say(Array.from({ length: 6 }, (_, i) => fetch(i + 1)).join(''));
    assert.deepEqual([(await big.hear()).length, (await small.hear()).length], [4, 2]);
    await world.stop();
  });

  it('overbooks its branches a little, and keeps what is beyond that', async () => {
    const world = new RelayWorld({ overbookPercent: 50 });
    const source = world.source();
    const branch = await world.branch(2, 'm1');
    await source.say(Array.from({ length: 6 }, (_, i) => fetch(i + 1)).join(''));
    assert.equal(asked(await branch.hear()), '1 2 3');
    assert.deepEqual([world.relay.status()['waiting'], world.relay.status()['fetching']], [3, 3]);
    await branch.say(stored(1, 'm1'));
    assert.equal(asked(await branch.hear()), '4');
    await world.stop();
  });

  it('keeps a lane at one branch, in order, and passes results up under the ids of the source', async () => {
    const world = new RelayWorld();
    const source = world.source();
    const one = await world.branch(2, 'm1');
    const two = await world.branch(2, 'm2');
    await source.hear();
    await source.say([17, 18, 19, 20, 21].map(id => fetch(id, 'a')).join(''));
    const requests = await one.hear();
    assert.equal(asked(requests), '17 18 19 20');
    assert.deepEqual(await two.hear(), []);
    await one.say(stored(numberOf(requests[0]), 'm1', 'ab/cd/7.1'));
    assert.deepEqual(await source.hear(), [
      stored(17, 'm1', 'ab/cd/7.1').replace('<fetched id="1"', '<fetched id="17"'),
    ]);
    assert.equal(asked(await one.hear()), '21');
    await one.say(
      `<fetched id="${numberOf(requests[1])}" status="error" code="404" reach="real" wirebytes="5" time="0.001">No &amp; no</fetched>`,
    );
    assert.deepEqual(await source.hear(), [
      '<fetched id="18" status="error" code="404" reach="real" wirebytes="5" time="0.001">No &amp; no</fetched>',
    ]);
    await world.stop();
  });

  it('passes on all that a request says', async () => {
    const world = new RelayWorld();
    const source = world.source();
    const branch = await world.branch(1, 'm1');
    const rest =
      'lane="7.1" url="https://h/a?b&amp;c" mtime="x" etag="&quot;y&quot;" mimetype="text/html" md5="0cc175b9c0f1b6a831c399e269772661" len="1" maxlen="100" timeout="2.5" roots="http://h/ https://h/" enforce="yes"/>';
    await source.say(`<fetch id="99" ${rest}`);
    assert.deepEqual(await branch.hear(), [`<fetch id="1" ${rest}`]);
    await world.stop();
  });

  it('gives what a vanished branch had to one with free slots, in order, and returns the rest at once', async () => {
    const world = new RelayWorld();
    const source = world.source();
    const lost = await world.branch(2, 'm1');
    await source.say([1, 2, 3].map(id => fetch(id, 'a')).join('') + fetch(4, 'b') + fetch(5, 'b'));
    const heir = await world.branch(1, 'm2');
    await source.hear();
    await lost.leave();
    assert.equal(asked(await heir.hear()), '1 2 3');
    assert.deepEqual(await source.hear(), [offered(1, 'm2'), recalled(4), recalled(5)]);
    await heir.leave();
    assert.deepEqual(await source.hear(), [offered(0, ''), recalled(1), recalled(2), recalled(3)]);
    await source.say(fetch(6));
    assert.deepEqual(await source.hear(), [recalled(6)], 'there is nobody to wait for');
    assert.equal(world.relay.status().idle, true);
    await world.stop();
  });

  it('gives up a request over which Bot Manager after Bot Manager vanishes, not those behind it', async () => {
    const world = new RelayWorld();
    const source = world.source();
    const branches = [];
    for (let i = 0; i < 3; i++) branches.push(await world.branch(1, `m${i}`));
    await source.hear();
    await source.say(fetch(1, 'a') + fetch(2, 'a'));
    for (const branch of branches) {
      assert.equal(asked(await branch.hear()), '1 2');
      await branch.leave();
    }
    assert.deepEqual(
      (await source.hear()).filter(line => line.startsWith('<fetched')),
      [
        '<fetched id="1" status="error" code="605" reach="url" wirebytes="0" time="0.000">3 Bot Managers vanished while fetching this</fetched>',
        recalled(2),
      ],
    );
    await world.stop();
  });

  it('takes back unasked what a branch cannot do, in its place, and gives it to another', async () => {
    const world = new RelayWorld();
    const source = world.source();
    const leaving = await world.branch(2, 'm1');
    await source.say([1, 2, 3, 4, 5].map(id => fetch(id, 'a')).join(''));
    await leaving.hear();
    const other = await world.branch(1, 'm2');
    await source.hear();
    await leaving.say(branchHello(0, 'm1', 's1') + [2, 3, 4].map(recalled).join(''));
    assert.deepEqual(await other.hear(), [], 'its first is still being fetched');
    await leaving.say(stored(1, 'm1'));
    assert.equal(asked(await other.hear()), '2 3 4 5');
    assert.deepEqual(told(await source.hear()), [
      '<lococa:bm machineid="m1 m2"',
      '<fetched id="1" status="ok"',
    ]);
    await world.stop();
  });

  it('gives nothing to a branch whose store is full until it has room, and no error of it to the source', async () => {
    const world = new RelayWorld();
    const source = world.source();
    const full = await world.branch(4, 'm1');
    const other = await world.branch(1, 'm2');
    await source.hear();
    const refusal = (id: number) =>
      `<fetched id="${id}" status="error" code="613" reach="provider" retryafter="30" wirebytes="0" time="0.000">full</fetched>`;
    await source.say(fetch(1) + fetch(2));
    const requests = await full.hear();
    assert.equal(requests.length, 1);
    await full.say(refusal(numberOf(requests[0])));
    assert.deepEqual(await source.hear(), [offered(1, 'm1 m2'), recalled(1)]);
    await source.say(fetch(3));
    assert.equal(asked(await other.hear()), '2');
    assert.deepEqual(await full.hear(), []);
    await full.say(branchHello(4, 'm1', 's1'));
    assert.equal(asked(await full.hear()), '3');
    await full.say(refusal(3));
    await world.pass(30_000);
    assert.equal((await source.hear()).at(-1), offered(5, 'm1 m2'), 'one that says nothing is tried again');
    await world.stop();
  });

  it('passes on that a branch has no room for one content, and gives it the next', async () => {
    const world = new RelayWorld();
    const source = world.source();
    const branch = await world.branch(1, 'm1');
    await source.hear();
    await source.say(fetch(1) + fetch(2));
    const [first] = await branch.hear();
    const roomless = (id: number) =>
      `<fetched id="${id}" status="error" code="613" reach="url" wirebytes="9" time="0.001">full</fetched>`;
    await branch.say(roomless(numberOf(first)));
    assert.deepEqual(await source.hear(), [roomless(1)]);
    assert.equal(asked(await branch.hear()), '2');
    await world.stop();
  });

  it('recalls a lane: what waits goes back at once, the branch is asked for the rest', async () => {
    const world = new RelayWorld();
    const source = world.source();
    const branch = await world.branch(1, 'm1');
    await source.say([1, 2, 3, 4, 5, 6].map(id => fetch(id, 'a')).join(''));
    await branch.hear();
    await source.hear();
    await source.say('<recall lane="a"/>');
    assert.deepEqual(await branch.hear(), ['<recall lane="a"/>']);
    assert.deepEqual(await source.hear(), [recalled(5), recalled(6)]);
    await source.say('<recall lane="a" begun="yes"/>');
    assert.deepEqual(await branch.hear(), ['<recall lane="a" begun="yes"/>']);
    await branch.say(recalled(2) + recalled(3) + recalled(4) + stored(1, 'm1'));
    assert.deepEqual(told(await source.hear()), [
      ...[2, 3, 4].map(id => recalled(id)),
      '<fetched id="1" status="ok"',
    ]);
    await world.stop();
  });

  it('passes deletions to the branch of their machine, whichever it is, and answers for those that are away', async () => {
    const world = new RelayWorld();
    const source = world.source();
    const one = await world.branch(1, 'm1');
    const below = await world.branch(1, 'm2 m3');
    await source.hear();
    const remove = (id: number, machine: string) =>
      `<delete id="${id}" machineid="${machine}" fileid="00/00/00000000.0"/>`;
    await source.say(remove(5, 'm3') + remove(6, 'm1') + remove(7, 'm9') + remove(8, 'm2'));
    assert.deepEqual(await below.hear(), [remove(1, 'm3'), remove(3, 'm2')]);
    assert.deepEqual(await one.hear(), [remove(2, 'm1')]);
    assert.deepEqual(await source.hear(), ['<deleted id="7" status="away"/>']);
    await below.say('<deleted id="3" status="ok"/><deleted id="1" status="away"/>');
    assert.deepEqual(await source.hear(), [
      '<deleted id="8" status="ok"/>',
      '<deleted id="5" status="away"/>',
    ]);
    await one.leave();
    assert.deepEqual(await source.hear(), ['<deleted id="6" status="away"/>', offered(1, 'm2 m3')]);
    await world.stop();
  });

  it('passes on what is asked of a machine’s store, and answers for those that are away', async () => {
    const world = new RelayWorld();
    const source = world.source();
    await world.branch(1, 'm1');
    const below = await world.branch(1, 'm2 m3');
    await source.hear();
    const check = (id: number, machine: string) =>
      `<check id="${id}" machineid="${machine}" fileid="00/00/00000000.0" md5="${'0'.repeat(32)}" len="1"/>`;
    await source.say(check(5, 'm3') + '<sync id="6" machineid="m2"/>' + check(7, 'm9'));
    assert.deepEqual(await below.hear(), [check(1, 'm3'), '<sync id="2" machineid="m2"/>']);
    assert.equal(world.relay.status().idle, false);
    await below.say('<checked id="1" status="bad"/>');
    assert.deepEqual(await source.hear(), [
      '<checked id="7" status="away"/>',
      '<checked id="5" status="bad"/>',
    ]);
    await below.leave();
    assert.equal((await source.hear())[0], '<synced id="6" status="away"/>');
    await world.stop();
  });

  it('has everything recalled when its source is gone, and deletes what was fetched nevertheless', async () => {
    const world = new RelayWorld();
    const source = world.source();
    const branch = await world.branch(2, 'm1');
    await source.say(fetch(1, 'a') + fetch(2, 'a') + fetch(3, 'b'));
    await branch.hear();
    await source.leave();
    assert.deepEqual(await branch.hear(), [
      '<recall lane="a" begun="yes"/>',
      '<recall lane="b" begun="yes"/>',
    ]);
    const anew = world.source();
    await anew.say(fetch(1, 'a'));
    assert.deepEqual(told(await branch.hear()), ['<fetch id="4" lane="a"'], 'behind what is begun');
    await branch.say(recalled(2) + stored(1, 'm1', 'ab/cd/1.0') + stored(3, 'm1', 'ab/cd/3.0'));
    assert.deepEqual(await branch.hear(), [
      '<delete id="5" machineid="m1" fileid="ab/cd/1.0"/>',
      '<delete id="6" machineid="m1" fileid="ab/cd/3.0"/>',
    ]);
    await branch.say('<deleted id="5" status="ok"/><deleted id="6" status="ok"/>' + stored(4, 'm1'));
    assert.deepEqual(told(await anew.hear()), [
      '<lococa:bm machineid="m1" slots="2"',
      '<fetched id="1" status="ok"',
    ]);
    assert.equal(world.relay.status().idle, true);
    await world.stop();
  });

  it('refuses a second machine with an id that is taken, and leaves the first alone', async () => {
    const world = new RelayWorld();
    const source = world.source();
    await world.branch(4, 'm1');
    const second = new Far(stream => world.relay.branch(stream, 'second'));
    await second.say(branchHello(4, 'm1', 'another'));
    assert.match(
      (await second.hear()).join(),
      /<lococa:error code="107">machine "m1": another machine of that id is connected; give this one an id of its own/,
    );
    assert.deepEqual(await source.hear(), [offered(0, ''), offered(4, 'm1')]);
    await world.stop();
  });

  it('tells a relay below which of its machines is refused, and points to no file of that one', async () => {
    const world = new RelayWorld();
    const source = world.source();
    const below = await world.branch(4, 'm2 m1');
    await source.say(fetch(1));
    await below.hear();
    await source.hear();
    await source.say('<refuse machineid="m1">not &lt;that&gt; one</refuse>');
    assert.deepEqual(await below.hear(), ['<refuse machineid="m1">not &lt;that&gt; one</refuse>']);
    assert.deepEqual(await source.hear(), [offered(4, 'm2')]);
    await below.say(stored(1, 'm1'));
    assert.equal(asked(await below.hear()), '1', 'it is asked for again');
    await below.say(stored(1, 'm2'));
    assert.deepEqual(told(await source.hear()), ['<fetched id="1" status="ok"']);
    await world.stop();
  });

  it('tells its source of a machine that comes over a new connection, and what it will not answer any more', async () => {
    const world = new RelayWorld();
    const source = world.source();
    const old = await world.branch(0, 'm1');
    const below = await world.branch(0, 'm2 m3');
    await source.say(
      '<sync id="5" machineid="m1"/><sync id="6" machineid="m3"/><sync id="7" machineid="m2"/>',
    );
    await source.hear();
    await world.branch(0, 'm1');
    assert.deepEqual(await source.hear(), [
      '<synced id="5" status="away"/>',
      offered(0, 'm2 m3'),
      offered(0, 'm1 m2 m3'),
    ]);
    assert.match((await old.hear()).at(-1) ?? '', /code="107">machine "m1": it has connected again/);
    await world.branch(0, 'm3');
    assert.deepEqual(await source.hear(), [
      '<synced id="6" status="away"/>',
      offered(0, 'm1 m2'),
      offered(0, 'm1 m2 m3'),
    ]);
    await below.say('<synced id="2" status="ok"/><synced id="3" status="ok"/>');
    assert.deepEqual(await source.hear(), ['<synced id="7" status="ok"/>']);
    await world.stop();
  });

  it('ends the connection of a Bot Manager that its source refuses', async () => {
    const world = new RelayWorld();
    const source = world.source();
    const branch = await world.branch(4, 'm1');
    await source.say('<refuse machineid="m1">no</refuse><refuse machineid="m9">no</refuse>');
    assert.deepEqual(await branch.hear(), ['<lococa:error code="107">no</lococa:error>']);
    await world.stop();
  });

  it('reads no more from its source when too much waits, and goes on when there is room', async () => {
    const world = new RelayWorld({ maxWaiting: 3 });
    const source = world.source();
    const branch = await world.branch(1, 'm1');
    await source.say([1, 2, 3, 4].map(id => fetch(id)).join(''));
    await source.say(fetch(5));
    assert.equal(world.relay.status()['waiting'], 3);
    await branch.say(stored(1, 'm1'));
    await settle();
    assert.equal(world.relay.status()['waiting'], 3, 'the fifth has come in its place');
    await world.stop();
  });

  it('lets branches finish what they have begun before it stops, and gives back the rest', async () => {
    const world = new RelayWorld();
    const source = world.source();
    const branch = await world.branch(1, 'm1');
    await source.say(fetch(1, 'a') + fetch(2, 'a') + fetch(3, 'b'));
    await source.hear();
    const stopped = world.relay.stop();
    assert.deepEqual(await source.hear(), [offered(0, 'm1'), recalled(3)]);
    await branch.say(recalled(2) + stored(1, 'm1'));
    await stopped;
    assert.deepEqual(told(await source.hear()), [
      '<fetched id="2" status="recalled"/>',
      '<fetched id="1" status="ok"',
    ]);
  });

  it('says of itself who is below', async () => {
    const world = new RelayWorld();
    await world.branch(4, 'm1');
    await world.branch(6, 'm2 m3');
    assert.equal(world.relay.status().idle, false, 'who is above may have content to be checked');
    await world.source().say(PING);
    assert.deepEqual(world.relay.status(), {
      idle: true,
      relay: true,
      source: true,
      bot_managers: [
        { peer: 'bot manager of m1', machines: ['m1'], slots: 4, relay: false },
        { peer: 'bot manager of m2 m3', machines: ['m2', 'm3'], slots: 6, relay: true },
      ],
      machines: 3,
      slots: 10,
      waiting: 0,
      fetching: 0,
      begun: 0,
      lanes: 0,
      deletions_waiting: 0,
    });
    await world.stop();
  });
});
