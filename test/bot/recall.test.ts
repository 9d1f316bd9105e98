import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Robot } from '../../src/bot/robot.js';
import { systemClock, type Clock } from '../../src/lib/clock.js';
import { silentLog } from '../../src/lib/log.js';
import { ManualClock } from '../support/manual-clock.js';
import { channelOptions, ends } from '../support/duplex.js';
import { answer, newEngine, newFolder, rawServer } from '../fetch/support.js';

/** A robot, a person who talks to it, and a site that answers when told to. */
async function newScene(slots: number, clock: Clock = systemClock) {
  const folder = newFolder();
  const asked: { path: string; socket: Socket }[] = [];
  const changes = new Set<() => void>();
  const changed = () => changes.forEach(look => look());
  const site = await rawServer((socket, request) => {
    asked.push({ path: request.split(' ')[1] ?? '', socket });
    changed();
  });
  const robot = new Robot({
    engine: newEngine(),
    slots,
    maxWaiting: 100,
    channel: channelOptions(),
    clock,
    log: silentLog,
  });
  const { ours, theirs, received } = ends();
  robot.serve(ours, 'person', 'person');
  theirs.on('data', changed);
  const until = async (met: () => boolean) => {
    if (met()) return;
    await new Promise<void>(resolve => {
      const look = () => {
        if (!met()) return;
        changes.delete(look);
        resolve();
      };
      changes.add(look);
    });
  };
  return {
    robot,
    say: (text: string) => void theirs.write(text),
    fetch: (id: number, lane?: string) =>
      `<fetch id="${id}"${lane === undefined ? '' : ` lane="${lane}"`} url="${site.url}${id}" file="${join(folder, String(id))}"/>`,
    isStored: (id: number) => existsSync(join(folder, String(id))),
    /** Paths asked of the site so far. */
    asked: () => asked.map(({ path }) => path),
    answer: (path: string) => void asked.find(one => one.path === path)?.socket.write(answer('content')),
    /** Results so far, as `ID status`, once there are `count`. */
    async results(count: number): Promise<string[]> {
      const read = () => [...received().matchAll(/<fetched id="(\d+)" status="(\w+)"/g)];
      await until(() => read().length >= count);
      return read().map(([, id, status]) => `${id} ${status}`);
    },
    async untilAsked(count: number): Promise<void> {
      await until(() => asked.length >= count);
    },
    received,
  };
}

describe('a robot', () => {
  it('gives the result of a page that is all of its lane at once, whatever is fetched of another', async () => {
    const scene = await newScene(2, new ManualClock());
    const { fetch } = scene;
    scene.say(fetch(1, 'large') + fetch(2, 'large') + fetch(3, 'small'));
    await scene.untilAsked(2);
    scene.answer('/3');
    assert.deepEqual(await scene.results(1), ['3 ok']);
    scene.answer('/1');
    await scene.untilAsked(3);
    scene.answer('/2');
    assert.deepEqual((await scene.results(3)).toSorted(), ['1 ok', '2 ok', '3 ok']);
  });
});

describe('a robot whose lane is recalled', () => {
  it('finishes what it has begun, hands back the rest in order, and leaves other lanes alone', async () => {
    const scene = await newScene(2);
    const { fetch } = scene;
    scene.say(fetch(1, 'a') + fetch(2, 'a') + fetch(3, 'b') + fetch(4, 'a') + fetch(5, 'b'));
    await scene.untilAsked(2);
    scene.say('<recall lane="a"/>');
    assert.deepEqual(await scene.results(2), ['2 recalled', '4 recalled']);
    scene.answer('/1');
    scene.answer('/3');
    await scene.untilAsked(3);
    scene.answer('/5');
    assert.deepEqual((await scene.results(5)).toSorted(), [
      '1 ok',
      '2 recalled',
      '3 ok',
      '4 recalled',
      '5 ok',
    ]);
    assert.deepEqual(scene.asked().toSorted(), ['/1', '/3', '/5']);
    assert.ok(scene.isStored(1) && !scene.isStored(2) && !scene.isStored(4));
    assert.equal(scene.robot.status().idle, true);
  });

  it('gives up what it has begun when that is asked for, and goes on with the lane', async () => {
    const scene = await newScene(2);
    const { fetch } = scene;
    scene.say(fetch(1, 'a') + fetch(2, 'a') + fetch(3, 'b'));
    await scene.untilAsked(2);
    scene.say('<recall lane="a" begun="yes"/>' + fetch(4, 'a'));
    assert.deepEqual((await scene.results(2)).toSorted(), ['1 error', '2 recalled']);
    await scene.untilAsked(3);
    scene.answer('/3');
    scene.answer('/4');
    assert.deepEqual((await scene.results(4)).slice(2).toSorted(), ['3 ok', '4 ok']);
    assert.ok(!scene.isStored(1));
    assert.equal(scene.robot.status().idle, true);
  });

  it('hands back a lane that has no slot yet, and takes requests of it again', async () => {
    const scene = await newScene(1);
    const { fetch } = scene;
    scene.say(fetch(1, 'a') + fetch(2, 'b') + fetch(3, 'b') + '<recall lane="b"/>' + fetch(4, 'b'));
    assert.deepEqual(await scene.results(2), ['2 recalled', '3 recalled']);
    await scene.untilAsked(1);
    scene.answer('/1');
    await scene.untilAsked(2);
    scene.answer('/4');
    assert.deepEqual((await scene.results(4)).slice(2).toSorted(), ['1 ok', '4 ok']);
    assert.deepEqual(scene.asked(), ['/1', '/4']);
  });

  it('says nothing of a lane it does not know, and cannot be asked for what has no lane', async () => {
    const scene = await newScene(1);
    const { fetch } = scene;
    scene.say(fetch(1) + fetch(2) + '<recall lane="a"/>' + fetch(3, 'a') + '<recall lane="a"/>');
    assert.deepEqual(await scene.results(1), ['3 recalled']);
    scene.say('<recall/>');
    await scene.untilAsked(1);
    assert.match(scene.received(), /code="104">person: &lt;recall&gt;: attribute lane: it is required/);
  });
});
