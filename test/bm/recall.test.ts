import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { NamesDb } from '../../src/db/names/names.js';
import { fetch, fileOf, numberOf, ok, World, type Far } from './support.js';
import { amount } from '../support/long.js';

const recalled = (id: number) => `<fetched id="${id}" status="recalled"/>`;
const recall = (lane: string, more = '') => `<recall lane="${lane}"${more}/>`;
const results = (lines: string[]) => lines.filter(line => line.startsWith('<fetched'));

describe('a Bot Manager whose source recalls a lane', () => {
  it('gives back at once what waits, asks the robot for the rest, and answers what that had begun', async () => {
    const world = new World({ laneWindow: 3 });
    const source = world.source();
    const robot = await world.robot(2);
    await source.say([1, 2, 3, 4, 5].map(id => fetch(id, 'a')).join('') + fetch(6, 'b'));
    const files = (await robot.hear()).map(fileOf);
    await source.hear();
    await source.say(recall('a'));
    assert.deepEqual(await source.hear(), [recalled(4), recalled(5)]);
    assert.deepEqual(await robot.hear(), [recall('a')]);
    await robot.say(recalled(2) + recalled(3));
    assert.deepEqual(await source.hear(), [recalled(2), recalled(3)]);
    await robot.say(ok(1) + ok(6));
    assert.deepEqual(
      (await source.hear()).map(line => line.split(' ', 3).join(' ')),
      ['<fetched id="1" status="ok"', '<fetched id="6" status="ok"'],
    );
    await source.say(fetch(7, 'a') + fetch(8, 'a'));
    assert.deepEqual(
      (await robot.hear()).map(fileOf).toSorted(),
      files.slice(1, 3).toSorted(),
      'the names of what came back serve the next',
    );
    await world.stop();
  });

  it('passes on that what has begun is to be given up', async () => {
    const world = new World({ laneWindow: 2 });
    const source = world.source();
    const robot = await world.robot(1);
    await source.say(fetch(1, 'a'));
    await robot.hear();
    await source.say(recall('a', ' begun="yes"'));
    assert.deepEqual(await robot.hear(), [recall('a', ' begun="yes"')]);
    await world.stop();
  });

  it('may be asked for the same id again as soon as it came back', async () => {
    const world = new World();
    const source = world.source();
    await source.say(fetch(1, 'a') + recall('a') + fetch(1, 'a') + recall('a'));
    assert.deepEqual(results(await source.hear()), [recalled(1), recalled(1)]);
    assert.equal(world.manager.status().idle, true);
    await world.stop();
  });

  it('does not give what was recalled to another robot when the first is gone, nor its name to anything', async () => {
    const world = new World({ laneWindow: 2 });
    const source = world.source();
    const robot = await world.robot(1);
    await source.say(fetch(1, 'a') + fetch(2, 'a'));
    const files = (await robot.hear()).map(fileOf);
    await source.say(recall('a'));
    await robot.leave();
    assert.deepEqual(results(await source.hear()), [recalled(1), recalled(2)]);
    const other = await world.robot(1);
    assert.deepEqual(await other.hear(), []);
    await source.say(fetch(3, 'a'));
    assert.ok(!files.includes(fileOf((await other.hear())[0])), 'the lost robot may still write there');
    await world.stop();
  });

  it('ends the connection of a robot that hands back what was not recalled, and has it fetched by another', async () => {
    const world = new World({ laneWindow: 2 });
    const source = world.source();
    const robot = await world.robot(1);
    await source.say(fetch(1, 'a') + recall('b') + fetch(2, 'a'));
    await robot.hear();
    await robot.say(recalled(2));
    assert.match((await robot.hear())[0] ?? '', /code="104">robot: &lt;fetched id="2"&gt;: no such fetch/);
    await robot.leave();
    const other = await world.robot(1);
    assert.equal((await other.hear()).length, 2);
    await other.say(ok(1) + ok(2));
    assert.equal(results(await source.hear()).length, 2);
    await world.stop();
  });

  it('has a robot drop all for a source that is gone or was replaced, and waits for what that has begun', async () => {
    const world = new World({ laneWindow: 2 });
    const source = world.source();
    const robot = await world.robot(1);
    await source.say(fetch(1, 'a') + fetch(2, 'a') + fetch(3, 'a'));
    await robot.hear();
    const anew = world.source();
    await anew.say(fetch(1, 'a'));
    assert.deepEqual(await robot.hear(), [recall('a', ' begun="yes"')], 'the window is full');
    await robot.say(recalled(2));
    const [again] = await robot.hear();
    assert.match(again ?? '', /url="http:\/\/h\/1"/);
    await robot.say(ok(1) + ok(numberOf(again)));
    assert.equal(results(await anew.hear()).length, 1);
    await anew.leave();
    assert.deepEqual(await robot.hear(), []);
    assert.deepEqual([world.manager.status()['waiting'], world.manager.status()['fetching']], [0, 0]);
    await world.stop();
  });

  it('answers every request exactly once and loses no name, whatever is fetched, recalled, broken or lost', async () => {
    const event = fc.record({
      what: fc.constantFrom(
        'fetch',
        'fetch',
        'fetch',
        'recall',
        'answer',
        'answer',
        'hand back',
        'join',
        'leave',
        'source',
      ),
      pick: fc.nat(1000),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3 }),
        fc.array(event, { maxLength: 40 }),
        async (window, events) => {
          const world = new World({ laneWindow: window });
          let source = world.source();
          let asked = 0;
          let stored = 0;
          /** Answers to each request of the source that is connected. */
          let answers = new Map<number, string[]>();
          let robots: FakeRobot[] = [];
          const listen = async () => {
            for (const line of results(await source.hear())) {
              const got = answers.get(numberOf(line));
              assert.ok(got !== undefined, `not asked for: ${line}`);
              got.push(/status="(\w+)"/.exec(line)?.[1] ?? '');
              if (got.at(-1) === 'ok') stored++;
            }
          };
          for (const { what, pick } of events) {
            const robot = robots[pick % Math.max(1, robots.length)];
            if (what === 'fetch') {
              answers.set(++asked, []);
              await source.say(fetch(asked, 'abc'[pick % 3]));
            } else if (what === 'recall') {
              await source.say(recall('abc'[pick % 3] ?? ''));
            } else if (what === 'join') {
              robots.push(new FakeRobot(await world.robot(1 + (pick % 3))));
            } else if (what === 'source') {
              await listen();
              answers = new Map();
              if (pick % 2 === 0) await source.leave();
              source = world.source();
            } else if (robot !== undefined && what === 'leave') {
              robots = robots.filter(other => other !== robot);
              await robot.far.leave();
            } else if (robot !== undefined) {
              await robot.act(what === 'answer', pick);
            }
            await listen();
          }
          const last = new FakeRobot(await world.robot(100));
          while (world.manager.status()['waiting'] !== 0 || world.manager.status()['fetching'] !== 0) {
            for (const robot of [...robots, last]) await robot.act(true, 0);
          }
          await listen();
          for (const [id, got] of answers) assert.equal(got.length, 1, `${id}: ${got.join()}`);
          await world.stop();
          await world.pass(0);
          assert.equal(namesInUse(world), stored, 'a name leaked');
        },
      ),
      { numRuns: amount(30, 100) },
    );
  });
});

/** Names held by content, or that nobody will ever give out again. */
function namesInUse(world: World): number {
  const names = new NamesDb(join(world.dir, 'names.db'));
  const used = names.nextId - names.freeCount - names.goneCount;
  names.close();
  return used;
}

/** One that begins the first request of each lane, and hands back the others of a lane that was recalled, in its own time. */
class FakeRobot {
  readonly far: Far;
  #lanes = new Map<string, { id: number; back: boolean }[]>();
  constructor(far: Far) {
    this.far = far;
  }

  async act(finish: boolean, pick: number): Promise<void> {
    for (const line of await this.far.hear()) {
      const lane = /lane="(\w+)"/.exec(line)?.[1] ?? '';
      const waiting = this.#lanes.get(lane) ?? [];
      this.#lanes.set(lane, waiting);
      if (line.startsWith('<recall')) waiting.slice(1).forEach(request => (request.back = true));
      else waiting.push({ id: numberOf(line), back: false });
    }
    const lanes = [...this.#lanes.values()].filter(waiting => waiting.length > 0);
    const waiting = lanes[pick % Math.max(1, lanes.length)];
    if (waiting === undefined) return;
    if (finish) {
      const first = waiting.shift();
      if (first?.back === true) await this.far.say(recalled(first.id));
      else if (first !== undefined) await this.far.say(ENDS[pick % ENDS.length]?.(first.id) ?? '');
    } else {
      const back = waiting.filter(request => request.back);
      waiting.splice(0, Infinity, ...waiting.filter(request => !request.back));
      await this.far.say(back.map(({ id }) => recalled(id)).join(''));
    }
  }
}

const ENDS = [
  ok,
  (id: number) => `<fetched id="${id}" status="unchanged"/>`,
  (id: number) => `<fetched id="${id}" status="error" code="404" reach="real">Not Found</fetched>`,
];

describe('a Bot Manager whose robot meets a site that asks to be left alone', () => {
  const busy = (id: number) =>
    `<fetched id="${id}" status="error" code="429" reach="url" retryafter="60" wirebytes="9" time="0.001">no</fetched>`;

  it('gives back what waits of its provider, tells the robot that it knows, and hands back what still comes', async () => {
    const world = new World({ laneWindow: 2 });
    const source = world.source();
    const robot = await world.robot(2);
    const other = await world.robot(2);
    await source.say(
      [1, 2, 3, 4].map(id => fetch(id, '7')).join('') + [5, 6, 7].map(id => fetch(id, '7.1')).join(''),
    );
    await source.say(fetch(8, '70'));
    const numbers = new Map<string, number>();
    for (const line of [...(await robot.hear()), ...(await other.hear())])
      numbers.set(/h\/(\d+)/.exec(line)?.[1] ?? '', numberOf(line));
    assert.deepEqual([...numbers.keys()].toSorted(), ['1', '2', '5', '6', '8']);
    await source.hear();
    const at = (id: string) => numbers.get(id) ?? 0;
    await robot.say(busy(at('1')) + recalled(at('2')));
    const heard = await source.hear();
    assert.match(
      heard[0] ?? '',
      /^<fetched id="1" status="error" code="429" .*retryafter="60"/,
      'it comes first',
    );
    assert.deepEqual(heard.slice(1).toSorted(), [recalled(2), recalled(3), recalled(4), recalled(7)]);
    assert.ok((await robot.hear()).includes(recall('7')));
    assert.ok((await other.hear()).includes(recall('7.1')));
    await other.say(ok(at('5')) + recalled(at('6')));
    assert.deepEqual(
      results(await source.hear()).map(line => line.split(' ', 3).join(' ')),
      ['<fetched id="5" status="ok"', '<fetched id="6" status="recalled"/>'],
    );
    await source.say(fetch(9, '7') + fetch(10, '7.2') + fetch(11, '70'));
    assert.deepEqual(results(await source.hear()), [recalled(9), recalled(10)]);
    await source.say(recall('7') + fetch(12, '7'));
    const again = [...(await robot.hear()), ...(await other.hear())].filter(line =>
      line.startsWith('<fetch'),
    );
    assert.deepEqual(again.map(line => /h\/(\d+)/.exec(line)?.[1] ?? '').toSorted(), ['11', '12']);
    await world.stop();
  });

  it('says so to a robot of which nothing more is in the lane', async () => {
    const world = new World();
    const source = world.source();
    const robot = await world.robot(1);
    await source.say(fetch(1, '7'));
    await robot.hear();
    await robot.say(busy(1));
    assert.deepEqual(await robot.hear(), [recall('7')]);
    await world.stop();
  });

  it('gives the provider a new start when another source comes', async () => {
    const world = new World();
    const source = world.source();
    const robot = await world.robot(1);
    await source.say(fetch(1, '7'));
    await robot.hear();
    await robot.say(busy(1));
    await robot.hear();
    await world.source().say(fetch(1, '7'));
    assert.equal((await robot.hear()).length, 1);
    await world.stop();
  });
});
