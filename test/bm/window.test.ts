import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fetch, fileOf, numberOf, ok, World } from './support.js';

describe('a Bot Manager that sends requests of a lane ahead', () => {
  it('sends a window of them to one robot, under the name of the lane', async () => {
    const world = new World({ laneWindow: 3 });
    const source = world.source();
    const robot = await world.robot(1);
    await source.say([1, 2, 3, 4].map(id => fetch(id, 'a')).join(''));
    const heard = await robot.hear();
    assert.deepEqual(
      heard.map(line => line.split(' ', 3).join(' ')),
      ['<fetch id="1" lane="a"', '<fetch id="2" lane="a"', '<fetch id="3" lane="a"'],
    );
    assert.equal(world.manager.status()['fetching'], 3);
    await robot.say(ok(1));
    assert.equal((await robot.hear()).length, 1);
    await world.stop();
  });

  it('counts a request’s time at a robot from its turn, not from when it was sent ahead', async () => {
    const world = new World({ laneWindow: 2 });
    const source = world.source();
    const robot = await world.robot(1);
    await source.say(fetch(1, 'a') + fetch(2, 'a'));
    await world.pass(50_000);
    await robot.say(ok(1));
    await world.pass(50_000);
    assert.equal(world.manager.status()['robots'], 1, 'the second has had 50 seconds');
    await world.pass(11_000);
    assert.equal(world.manager.status()['robots'], 0);
    await world.stop();
  });

  it('does not blame what was only sent ahead for the end of a robot, nor reuse its name', async () => {
    const world = new World({ laneWindow: 2, maxLosses: 2 });
    const source = world.source();
    await source.say(fetch(1, 'a') + fetch(2, 'a'));
    const files: string[] = [];
    for (let i = 0; i < 2; i++) {
      const robot = await world.robot(1);
      files.push(...(await robot.hear()).map(fileOf));
      await robot.leave();
    }
    assert.equal(new Set(files).size, 2, 'each keeps its destination');
    const answers = (await source.hear()).filter(line => line.startsWith('<fetched'));
    assert.match(answers.join(), /^<fetched id="1" status="error" code="605"[^,]*$/);
    const robot = await world.robot(1);
    const [asked] = await robot.hear();
    assert.match(asked ?? '', /url="http:\/\/h\/2"/);
    await robot.say(`<fetched id="${numberOf(asked)}" status="unchanged"/>`);
    await source.say(fetch(3, 'b'));
    assert.ok(!files.includes(fileOf((await robot.hear())[0])), 'a lost robot may still write there');
    await world.stop();
  });
});
