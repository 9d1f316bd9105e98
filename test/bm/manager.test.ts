import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { Store } from '../../src/bm/store.js';
import { silentLog } from '../../src/lib/log.js';
import { settle } from '../support/duplex.js';
import { fetch, fileOf, HELLO, numberOf, ok, PING, World } from './support.js';

describe('a Bot Manager', () => {
  it('tells its source how much can be done, again whenever robots come, change and go', async () => {
    const world = new World();
    const source = world.source();
    assert.deepEqual(await source.hear(), [HELLO(0)]);
    const robot = await world.robot(4);
    const other = await world.robot(8);
    assert.deepEqual(await source.hear(), [HELLO(4), HELLO(12)]);
    await robot.say('<lococa:bot slots="2"/>');
    assert.deepEqual(await source.hear(), [HELLO(10)]);
    await other.leave();
    assert.deepEqual(await source.hear(), [HELLO(2)]);
    assert.deepEqual(await world.source().hear(), [HELLO(2)], 'a new source hears it at once');
    await world.stop();
  });

  it('names a file for each request and sends back where the content is', async () => {
    const world = new World();
    const source = world.source();
    const robot = await world.robot(4);
    await source.hear();
    await source.say(fetch(41) + fetch(42));
    const [first, second] = await robot.hear();
    assert.equal(
      first,
      `<fetch id="1" lane="41" url="http://h/41" file="${world.path('00/00/00000000.0')}"/>`,
    );
    assert.equal(fileOf(second), world.path('00/00/00000001.0'));
    await robot.say(ok(2));
    assert.deepEqual(await source.hear(), [
      `<fetched id="42" status="ok" http="200" md5="${'0'.repeat(32)}" len="1" wirebytes="1" time="0.001" machineid="m1" fileid="00/00/00000001.0"/>`,
    ]);
    await world.stop();
  });

  it('uses the name of a failed or unchanged fetch for the next', async () => {
    const world = new World();
    const source = world.source();
    const robot = await world.robot(1);
    await source.say(fetch(1) + fetch(2) + fetch(3));
    const file = fileOf((await robot.hear())[0]);
    await robot.say('<fetched id="1" status="error" code="404" reach="real">Not Found</fetched>');
    assert.equal(fileOf((await robot.hear())[0]), file);
    await robot.say('<fetched id="2" status="unchanged"/>');
    assert.equal(fileOf((await robot.hear())[0]), file);
    assert.deepEqual((await source.hear()).slice(-2), [
      '<fetched id="1" status="error" code="404" reach="real" wirebytes="0" time="0.000">Not Found</fetched>',
      '<fetched id="2" status="unchanged" http="304" wirebytes="0" time="0.000"/>',
    ]);
    await world.stop();
  });

  it('fetches one url of a lane at a time, in order', async () => {
    const world = new World();
    const source = world.source();
    const robot = await world.robot(8);
    await source.say(fetch(1, 'a') + fetch(2, 'a') + fetch(3, 'b') + fetch(4, 'a'));
    const urls = async () => (await robot.hear()).map(line => /h\/(\d)/.exec(line)?.[1]).join('');
    assert.equal(await urls(), '13');
    await robot.say(ok(1));
    assert.equal(await urls(), '2');
    await robot.say(ok(2));
    assert.equal(await urls(), '4');
    await world.stop();
  });

  it('drops what a lost source asked, removes what was still fetched for it, and starts anew', async () => {
    const world = new World();
    const source = world.source();
    const robot = await world.robot(2);
    await source.say(fetch(1, 'a') + fetch(2, 'a') + fetch(3, 'b') + fetch(4, 'b'));
    const [first, third] = await robot.hear();
    await source.leave();
    assert.deepEqual(await robot.hear(), [
      '<recall lane="a" begun="yes"/>',
      '<recall lane="b" begun="yes"/>',
    ]);
    assert.deepEqual([world.manager.status()['waiting'], world.manager.status()['fetching']], [0, 2]);

    const anew = world.source();
    await anew.say(fetch(1, 'a'));
    assert.deepEqual(await robot.hear(), [], 'the site is still being fetched from for the old source');
    writeFileSync(fileOf(first), 'x');
    writeFileSync(fileOf(third), 'x');
    await robot.say(ok(numberOf(first)) + ok(numberOf(third)));
    const [again] = await robot.hear();
    assert.notEqual(fileOf(again), fileOf(first));
    await world.pass(2000);
    assert.ok(!existsSync(fileOf(first)) && !existsSync(fileOf(third)));
    await robot.say(ok(numberOf(again)));
    const heard = await anew.hear();
    assert.deepEqual(
      heard.map(line => line.split(' ', 2).join(' ')),
      ['<lococa:bm machineid="m1"', '<fetched id="1"'],
    );
    await world.stop();
  });

  it('ends the connection of a source that gives one id to two requests', async () => {
    const world = new World();
    const source = world.source();
    await source.say(fetch(1) + fetch(1));
    assert.match(
      (await source.hear()).at(-1) ?? '',
      /code="104">source: &lt;fetch id="1"&gt;: that id is being fetched/,
    );
    await world.stop();
  });

  it('answers a deletion once it is noted, also of what is gone; another machine’s is away', async () => {
    const world = new World();
    const source = world.source();
    const robot = await world.robot(1);
    await source.say(fetch(1));
    const [asked] = await robot.hear();
    writeFileSync(fileOf(asked), 'x');
    await robot.say(ok(1));
    await source.hear();
    await source.say('<delete id="5" machineid="m1" fileid="00/00/00000000.0"/>');
    await source.say('<delete id="6" machineid="m2" fileid="00/00/00000000.0"/>');
    await source.say('<delete id="7" machineid="m1" fileid="../names.db"/>');
    assert.deepEqual(await source.hear(), [
      '<deleted id="6" status="away"/>',
      '<deleted id="7" status="ok"/>',
    ]);
    await world.pass(10);
    assert.deepEqual(await source.hear(), ['<deleted id="5" status="ok"/>']);
    assert.ok(existsSync(fileOf(asked)), 'it stays for the grace period');
    await world.pass(2000);
    assert.ok(!existsSync(fileOf(asked)));
    assert.ok(existsSync(world.path('names.db')));
    await world.stop();
  });

  it('offers no slots while the disk is nearly full, answers 613, deletes on, and comes back by itself', async () => {
    const world = new World();
    const source = world.source();
    const robot = await world.robot(1);
    await source.say(fetch(1) + fetch(2));
    await source.hear();
    world.freePercent = 4;
    await world.pass(1000);
    const message = 'store full: 3.8 MB free of 95 MB, 4.8 MB needed (bm.min_free_disk_percent); free some';
    const refusal = (id: number) =>
      `<fetched id="${id}" status="error" code="613" reach="provider" retryafter="30" wirebytes="0" time="0.000">${message}</fetched>`;
    assert.deepEqual(await source.hear(), [refusal(2), HELLO(0)]);
    await source.say(fetch(3));
    assert.deepEqual(await source.hear(), [refusal(3)]);
    await robot.say(ok(1));
    await source.say('<delete id="4" machineid="m1" fileid="00/00/00000000.0"/>');
    await world.pass(10);
    assert.deepEqual(
      (await source.hear()).map(line => line.split(' ', 2).join(' ')),
      ['<fetched id="1"', '<deleted id="4"'],
    );
    world.freePercent = 50;
    await world.pass(1000);
    assert.deepEqual(await source.hear(), [HELLO(1)]);
    await source.say(fetch(5));
    assert.equal((await robot.hear()).length, 2);
    await world.stop();
  });

  it('says at its start what the disk has and needs when that is too little', async () => {
    const said: unknown[] = [];
    const warn = (event: string, fields?: object) => void said.push([event, fields]);
    const space = () => ({ freeBytes: 2 ** 30, totalBytes: 2 ** 40 });
    const minFree = { percent: 5, bytes: 2 ** 32, whose: 'bm' as const };
    const world = new World({ log: { ...silentLog, warn } }, { space, minFree });
    const disk = '1.0 GB free of 1.0 TB, 4.0 GB needed (bm.min_free_disk_bytes)';
    assert.deepEqual(said, [['store full, nothing is fetched', { disk }]]);
    assert.equal(world.manager.status()['no_room'], disk);
    await world.stop();
  });

  it('looks for room when content comes, and has what waits at robots handed back when there is none', async () => {
    const world = new World({ laneWindow: 3 });
    const source = world.source();
    const robot = await world.robot(2);
    await source.say([1, 2, 3, 4].map(id => fetch(id, 'a')).join('') + fetch(5, 'b'));
    await source.hear();
    const [first] = await robot.hear();
    world.freePercent = 4;
    const large = ok(numberOf(first)).replace('len="1"', 'len="60000000"');
    await robot.say(large);
    const heard = await source.hear();
    assert.match(heard[0] ?? '', /^<fetched id="1" status="ok"/);
    assert.match(heard[1] ?? '', /^<fetched id="4" status="error" code="613"/);
    assert.deepEqual(heard.slice(2), [HELLO(0)]);
    assert.deepEqual(await robot.hear(), ['<recall lane="a"/>']);
    await robot.say('<fetched id="3" status="recalled"/>');
    assert.deepEqual(await source.hear(), ['<fetched id="3" status="recalled"/>']);
    await world.stop();
  });

  it('gives a robot one fetch of a lane at a time while more could take the room that the disk must keep', async () => {
    const world = new World({ laneWindow: 4 });
    const source = world.source();
    const robot = await world.robot(1);
    world.freePercent = 9;
    await world.pass(1000);
    await source.say([1, 2, 3, 4, 5, 6].map(id => fetch(id, 'a')).join(''));
    assert.equal((await robot.hear()).length, 4, 'nothing is known of sizes yet');
    await robot.say(ok(1).replace('len="1"', 'len="2000000"'));
    assert.deepEqual(await robot.hear(), ['<recall lane="a"/>'], 'four more may take 8 MB, 2 are left');
    await robot.say([2, 3, 4].map(id => `<fetched id="${id}" status="recalled"/>`).join(''));
    assert.deepEqual((await robot.hear()).map(numberOf), [5]);
    assert.deepEqual(
      (await source.hear()).filter(line => line.includes('recalled')).length,
      3,
      'their turns come again',
    );
    world.freePercent = 50;
    await world.pass(1000);
    await robot.say(ok(5));
    await source.say([7, 8, 9].map(id => fetch(id, 'a')).join(''));
    assert.deepEqual((await robot.hear()).map(numberOf), [6, 7, 8, 9]);
    await world.stop();
  });

  it('reads no more from its source when too much waits, and goes on when there is room', async () => {
    const world = new World({ maxWaiting: 3 });
    const source = world.source();
    await source.say(fetch(1) + fetch(2) + fetch(3));
    await source.say(fetch(4));
    assert.equal(world.manager.status()['waiting'], 3);
    const robot = await world.robot(1);
    await robot.say(ok(1));
    await settle();
    assert.equal(world.manager.status()['waiting'], 2);
    await world.stop();
  });

  it('is idle when its source knows of it, nothing waits and nothing is fetched', async () => {
    const world = new World();
    assert.equal(world.manager.status().idle, false, 'the source may have content to be checked');
    const source = world.source();
    assert.equal(world.manager.status().idle, false, 'the source has not said anything');
    await source.say(PING);
    const robot = await world.robot(2);
    assert.deepEqual(world.manager.status(), {
      idle: true,
      machineid: 'm1',
      source: true,
      robots: 1,
      robots_silent: [],
      robots_lost: [],
      slots: 2,
      waiting: 0,
      fetching: 0,
      begun: 0,
      lanes: 0,
      deletions_waiting: 0,
      names_free: 0,
      names_in_grace: 0,
      store_full: false,
      no_room: null,
      disk: { free_bytes: 50_000_000, total_bytes: 100_000_000, needed_bytes: 5_000_000 },
      names_full: false,
    });
    await source.say(fetch(1));
    assert.equal(world.manager.status().idle, false);
    await robot.say(ok(1));
    assert.equal(world.manager.status().idle, true);
    await world.stop();
  });

  it('lets its robots finish what they have begun before it stops, and gives back the rest', async () => {
    const world = new World();
    const source = world.source();
    const robot = await world.robot(1);
    await source.say(fetch(1) + fetch(2));
    await source.hear();
    const stopped = world.manager.stop();
    assert.deepEqual(await source.hear(), [HELLO(0), '<fetched id="2" status="recalled"/>']);
    await source.say(fetch(3));
    assert.deepEqual(await source.hear(), ['<fetched id="3" status="recalled"/>']);
    await robot.say(ok(1));
    await stopped;
    assert.match((await source.hear()).join(), /^<fetched id="1" status="ok"/);
    assert.match(
      (await robot.hear()).join(),
      /^<fetch id="1" [^,]*,<recall lane="1"\/>$/,
      'nothing new was begun',
    );
  });

  it('puts every unused name back when it stops', async () => {
    const world = new World();
    const source = world.source();
    const robot = await world.robot(1);
    await source.say(fetch(1));
    await robot.say(ok(1));
    await world.stop();
    const store = new Store({
      dir: world.dir,
      machineId: 'm1',
      graceMs: 0,
      blockNames: 1,
      minFree: { percent: 0, bytes: 0, whose: 'bm' },
      attemptMs: 60_000,
      clock: world.clock,
      log: silentLog,
      fail: error => assert.fail(String(error)),
    });
    assert.equal(store.freeNames, 7);
    store.close();
  });
});
