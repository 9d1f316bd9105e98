/** Robots of the Bot Manager's own process, beside others that are connected. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LccError } from '../../src/lib/errors.js';
import type { ToRobot } from '../../src/wire/near-robot.js';
import { settle } from '../support/duplex.js';
import { fetch, fileOf, HELLO, numberOf, ok, PING, World } from './support.js';

/** A robot of the world's process with one slot. */
async function near(world: World) {
  const told: ToRobot[] = [];
  const cuts: number[] = [];
  const robot = world.manager.near(
    'thread lccbot',
    said => void told.push(...(typeof said === 'string' ? (JSON.parse(said) as ToRobot[]) : said)),
    () => void cuts.push(world.clock.monotonicMs()),
  );
  robot.hear([{ slots: 1 }]);
  await settle();
  const asked = () =>
    told.splice(0).flatMap(each => ('recall' in each ? [] : [{ ...each[2], id: each[0], file: each[1] }]));
  return { robot, told, asked, cuts };
}

const done = (id: number) =>
  ({
    id,
    status: 'ok',
    http: 200,
    md5: '0'.repeat(32),
    len: 1,
    wireBytes: 100,
    elapsedMs: 1,
    completeness: 'whole',
  }) as const;

describe('a robot of the same process', () => {
  it('is given requests and names of files as any other, and its results go back', async () => {
    const world = new World();
    const source = world.source();
    const { robot, asked } = await near(world);
    await source.say(PING + fetch(7));
    assert.deepEqual((await source.hear()).slice(0, 2), [
      HELLO(0),
      HELLO(1).replace('/>', ' unasked="yes"/>'),
    ]);
    const [request] = asked();
    assert.ok(request !== undefined && request.file.startsWith(world.dir), JSON.stringify(request));
    assert.deepEqual([request.url, request.lane, request.roots], ['http://h/7', '7', []]);
    robot.hear([done(request.id)]);
    const [line] = await source.hear();
    assert.match(
      line ?? '',
      /^<fetched id="7" status="ok" .*machineid="m1" fileid="00\/00\/00000000\.0"\/>$/,
    );
    await world.stop();
  });

  it('that ends has its work given to another, under another name: its threads may still write', async () => {
    const world = new World();
    const source = world.source();
    const { robot, asked } = await near(world);
    await source.say(PING + fetch(1));
    const [request] = asked();
    const other = await world.robot(1);
    robot.lost(new LccError('peer.unavailable', 'lccbot has ended: out of memory'));
    const [line] = await other.hear();
    assert.notEqual(fileOf(line), request?.file);
    assert.deepEqual(
      (world.manager.status().robots_lost as { reason: string }[]).map(({ reason }) => reason),
      ['lccbot has ended: out of memory'],
    );
    await other.say(ok(numberOf(line)));
    assert.match((await source.hear()).join(), /id="1" status="ok"/);
    await near(world);
    assert.deepEqual(world.manager.status().robots_lost, []);
    await world.stop();
  });

  it('is answered for after as many ends as any other: a page that ends robots does so a few times', async () => {
    const world = new World({ maxLosses: 2 });
    const source = world.source();
    await source.say(PING + fetch(1));
    for (const _ of [1, 2]) {
      const { robot, asked } = await near(world);
      assert.equal(asked().length, 1);
      robot.lost(new LccError('peer.unavailable', 'lccbot has ended'));
    }
    assert.match((await source.hear()).join('\n'), /id="1" status="error" code="605".*2 robots ended/);
    await world.stop();
  });

  it('that does not answer in its time is cut off, and ended by that', async () => {
    const world = new World();
    const source = world.source();
    const { asked, cuts } = await near(world);
    await source.say(PING + fetch(1));
    assert.equal(asked().length, 1);
    await world.pass(61_000);
    assert.equal(cuts.length, 1);
    await world.stop();
  });
});
