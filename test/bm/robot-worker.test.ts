import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { channelOptions } from '../support/duplex.js';
import { branchHello, Far, fetch, fileOf, HELLO, numberOf, ok, RelayWorld, World } from './support.js';

describe('a Bot Manager whose robots come and go', () => {
  it('gives what a vanished robot was doing to another, for the same destination', async () => {
    const world = new World();
    const source = world.source();
    const robot = await world.robot(2);
    await source.say(fetch(1) + fetch(2));
    const before = (await robot.hear()).map(fileOf);
    await robot.leave();
    assert.equal(world.manager.status()['waiting'], 2, 'without robots requests wait');
    const other = await world.robot(2);
    assert.deepEqual((await other.hear()).map(fileOf), before);
    await world.stop();
  });

  it('gives what a silent robot was doing to another under another name, and misses it until one comes from its address', async () => {
    const world = new World({
      channel: { ...channelOptions(), helloTimeoutMs: 60_000, pingIntervalMs: 1000 },
    });
    const source = world.source();
    const robot = (where: string) => new Far(stream => world.manager.robot(stream, where));
    const silent = robot('robot 192.0.2.7:1111');
    await silent.say('<lococa:bot slots="1" pings="yes"/>');
    await source.say(fetch(1));
    const before = (await silent.hear()).map(fileOf).find(file => file !== '');
    await world.pass(1000);
    assert.deepEqual(world.manager.status()['robots_silent'], [
      { peer: 'robot 192.0.2.7:1111', silent_ms: 1000 },
    ]);
    await world.pass(2000);
    assert.deepEqual(world.manager.status()['robots_silent'], []);
    const reason =
      'robot 192.0.2.7:1111: silent for 3 intervals of 1 s (wire.ping_interval_ms); it hangs, or the link is cut';
    const lost = [{ reason, at_ms: world.clock.nowMs() }];
    assert.deepEqual(world.manager.status()['robots_lost'], lost);
    const other = robot('robot 192.0.2.8:1111');
    await other.say('<lococa:bot slots="1"/>');
    const after = (await other.hear()).map(fileOf).find(file => file !== '');
    assert.ok(after !== undefined && after !== before, after);
    assert.deepEqual(world.manager.status()['robots_lost'], lost);
    await robot('robot 192.0.2.7:2222').say('<lococa:bot slots="1"/>');
    assert.deepEqual(world.manager.status()['robots_lost'], []);
    await world.stop();
  });

  it('misses twenty robots at most, and none for longer than a day', async () => {
    const world = new World({
      channel: { ...channelOptions(), helloTimeoutMs: 60_000, pingIntervalMs: 10_000 },
    });
    for (let i = 0; i < 25; i++)
      await new Far(stream => world.manager.robot(stream, `robot 192.0.2.${i}:1`)).say(
        '<lococa:bot slots="1" pings="yes"/>',
      );
    await world.pass(30_000);
    const lost = () => (world.manager.status()['robots_lost'] as unknown[]).length;
    assert.equal(lost(), 20);
    // What else a Bot Manager does in that day is not at stake.
    const lostMs = world.clock.monotonicMs();
    world.clock.monotonicMs = () => lostMs + 24 * 3_600_000 - 60_000;
    assert.equal(lost(), 20);
    world.clock.monotonicMs = () => lostMs + 24 * 3_600_000;
    assert.equal(lost(), 0);
    await world.stop();
  });

  it('that stood still itself gives a robot nothing of what its source asked for before', async () => {
    const world = new World();
    const source = world.source();
    await source.say('<ping intervalms="1000"/>' + fetch(1));
    world.clock.monotonicMs = () => 2000;
    const robot = await world.robot(1);
    assert.deepEqual(await robot.hear(), []);
    assert.equal(world.manager.status()['source'], false);
    assert.equal(world.manager.status()['waiting'], 0);
    await world.stop();
  });

  it('gives back what waits when no robot comes for a while, also what came while there was none', async () => {
    const world = new World();
    const source = world.source();
    const robot = await world.robot(1);
    await source.say(fetch(1) + fetch(2));
    await robot.leave();
    await world.pass(4000);
    assert.equal(world.manager.status()['waiting'], 2, 'one that is started again finds its work');
    const heir = await world.robot(1);
    await world.pass(4000);
    await heir.say(ok(1));
    await heir.leave();
    await source.hear();
    await source.say(fetch(3));
    await world.pass(5000);
    assert.deepEqual(await source.hear(), [
      '<fetched id="2" status="recalled"/>',
      '<fetched id="3" status="recalled"/>',
    ]);
    await source.say(fetch(4));
    await world.pass(5000);
    assert.deepEqual(await source.hear(), ['<fetched id="4" status="recalled"/>']);
    assert.equal(world.manager.status().idle, true);
    await world.stop();
  });

  it('gives up a request over which robot after robot ends, and goes on with its lane', async () => {
    const world = new World();
    const source = world.source();
    await source.say(fetch(1, 'a') + fetch(2, 'a'));
    for (let i = 0; i < 3; i++) {
      const robot = await world.robot(1);
      assert.match((await robot.hear())[0] ?? '', /url="http:\/\/h\/1"/);
      await robot.leave();
    }
    const answers = (await source.hear()).filter(line => line.startsWith('<fetched'));
    assert.deepEqual(answers, [
      '<fetched id="1" status="error" code="605" reach="url" wirebytes="0" time="0.000">3 robots ended while fetching this</fetched>',
    ]);
    const robot = await world.robot(1);
    const [next] = await robot.hear();
    assert.match(next ?? '', /url="http:\/\/h\/2"/);
    assert.notEqual(fileOf(next), world.path('00/00/00000000.0'), 'a lost robot may still write there');
    await world.stop();
  });

  it('cuts off a robot that does not answer, and gives its requests to another', async () => {
    const world = new World();
    const source = world.source();
    const hung = await world.robot(1);
    await source.say(fetch(1));
    await hung.hear();
    await world.pass(59_000);
    assert.equal(world.manager.status()['robots'], 1);
    await world.pass(2000);
    assert.equal(world.manager.status()['robots'], 0);
    const robot = await world.robot(1);
    assert.match((await robot.hear())[0] ?? '', /url="http:\/\/h\/1"/);
    await world.stop();
  });

  it('gives what a robot had that it cut off itself another name: it may live and put its content in place', async () => {
    const world = new World({ maxLosses: 4 });
    const source = world.source();
    const files: string[] = [];
    const next = async () => {
      const robot = await world.robot(1);
      if (files.length === 0) await source.say(fetch(1));
      const [asked] = await robot.hear();
      files.push(fileOf(asked));
      return { robot, number: numberOf(asked) };
    };
    await next();
    await world.pass(61_000);
    const confused = await next();
    await confused.robot.say(ok(confused.number + 7));
    await confused.robot.leave();
    const garbled = await next();
    await garbled.robot.say('<fetched <');
    await garbled.robot.leave();
    const { robot, number } = await next();
    assert.equal(new Set(files).size, 4, 'hung, confused and garbled ones may all go on');
    const [late = '', , , last = ''] = files;
    writeFileSync(last, 'x');
    await robot.say(ok(number));
    // The first of them comes to itself.
    writeFileSync(late, 'late');
    assert.match(
      (await source.hear()).at(-1) ?? '',
      new RegExp(`fileid="${last.slice(world.dir.length + 1)}"`),
    );
    assert.equal(readFileSync(last, 'utf8'), 'x');
    await world.stop();
  });

  it('removes what a lost robot has begun, and nothing else', async () => {
    const world = new World({ laneWindow: 2 });
    const source = world.source();
    const robot = await world.robot(2);
    const other = await world.robot(1);
    await source.say(fetch(1, 'a') + fetch(2, 'a') + fetch(3, 'b') + fetch(4, 'c'));
    const lost = (await robot.hear()).map(fileOf);
    const kept = (await other.hear()).map(fileOf);
    assert.deepEqual([lost.length, kept.length], [3, 1]);
    for (const file of [...lost, ...kept]) writeFileSync(`${file}.run-1.tmp`, 'half');
    writeFileSync(`${lost[0]}0.run-1.tmp`, 'of another name that begins alike');
    await robot.leave();
    const left = readdirSync(dirname(kept[0] ?? '')).map(name => join(dirname(kept[0] ?? ''), name));
    assert.deepEqual(left.sort(), [`${kept[0]}.run-1.tmp`, `${lost[0]}0.run-1.tmp`].sort());
    await world.stop();
  });

  it('ends the connection of a robot that answers what it was not asked', async () => {
    const world = new World();
    const robot = await world.robot(1);
    await robot.say(ok(7));
    assert.match((await robot.hear())[0] ?? '', /code="104">robot: &lt;fetched id="7"&gt;: no such fetch/);
    await world.stop();
  });
});

describe('requests for what nobody announced', () => {
  const unasked = (id: number) => `<fetch id="${id}" lane="7" url="http://h/${id}" redirects="report"/>`;
  const recalled = (id: number) => `<fetched id="${id}" status="recalled"/>`;
  const SAYS = '<lococa:bot slots="1" unasked="yes"/>';
  const TAKES = HELLO(1).replace('/>', ' unasked="yes"/>');

  it('come while all robots say that they do them', async () => {
    const world = new World();
    const source = world.source();
    const robot = new Far(stream => world.manager.robot(stream, 'robot'));
    await robot.say(SAYS);
    assert.deepEqual(await source.hear(), [HELLO(0), TAKES]);
    await source.say(unasked(1) + unasked(2));
    assert.equal((await robot.hear()).length, 1);
    const old = await world.robot(1);
    assert.deepEqual(await source.hear(), [recalled(2), HELLO(2)]);
    await source.say(unasked(3) + fetch(4));
    assert.deepEqual(await source.hear(), [recalled(3)]);
    assert.match((await old.hear()).join(), /url="http:\/\/h\/4"/);
    await world.stop();
  });

  it('come through a relay while all below it say so', async () => {
    const world = new RelayWorld();
    const source = world.source();
    const branch = await world.branch(1, 'm1');
    await source.say(unasked(1));
    assert.deepEqual((await source.hear()).at(-1), recalled(1));
    await branch.say(branchHello(1, 'm1', 's1').replace('/>', ' unasked="yes"/>'));
    assert.match((await source.hear()).join(), /unasked="yes"/);
    await source.say(unasked(2));
    const [request] = await branch.hear();
    await branch.say(
      `<fetched id="${numberOf(request)}" status="redirect" http="301" location="http://h/3" wirebytes="5" time="0.001"/>`,
    );
    assert.deepEqual(await source.hear(), [
      '<fetched id="2" status="redirect" http="301" location="http://h/3" wirebytes="5" time="0.001"/>',
    ]);
    await world.stop();
  });

  it('whose content comes with the result take no name in the store', async () => {
    const world = new World();
    const source = world.source();
    const robot = new Far(stream => world.manager.robot(stream, 'robot'));
    await robot.say(SAYS);
    await source.hear();
    const free = world.store.freeNames;
    await source.say('<fetch id="9" lane="7" url="http://h/robots.txt" inline="1000"/>');
    assert.deepEqual(await robot.hear(), [
      '<fetch id="1" lane="7" url="http://h/robots.txt" inline="1000"/>',
    ]);
    await robot.say('<part id="1">QWxsb3c6</part><fetched id="1" status="inline" http="200" time="0.001"/>');
    assert.deepEqual(await source.hear(), [
      '<part id="9">QWxsb3c6</part>',
      '<fetched id="9" status="inline" http="200" wirebytes="6" time="0.001"/>',
    ]);
    assert.equal(world.store.freeNames, free);
    await world.stop();
  });
});
