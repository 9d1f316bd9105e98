/** A site that answers 429 or 503 with Retry-After is left alone at once, by the robot itself. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Robot } from '../../src/bot/robot.js';
import { silentLog } from '../../src/lib/log.js';
import { ManualClock } from '../support/manual-clock.js';
import { channelOptions, ends, settle } from '../support/duplex.js';
import { answer, newEngine, newFolder, rawServer, type RawServer } from '../fetch/support.js';

const BUSY = answer('', 'Retry-After: 60\r\n', '429 Too Many Requests');

async function newScene(slots: number, site: RawServer) {
  const folder = newFolder();
  const clock = new ManualClock();
  const robot = new Robot({
    engine: newEngine(),
    slots,
    maxWaiting: 1000,
    channel: channelOptions({
      xml: { maxTokenBytes: 10_000, maxDepth: 4, maxAttributes: 32, maxNameBytes: 64 },
    }),
    clock,
    log: silentLog,
  });
  const { ours, theirs, received } = ends();
  robot.serve(ours, 'manager', 'manager');
  const results = () =>
    [...received().matchAll(/<fetched id="(\d+)" status="(\w+)"(?: code="(\d+)")?/g)].map(
      ([, id, status, code]) => `${id} ${code ?? status}`,
    );
  return {
    robot,
    clock,
    results,
    say: (text: string) => void theirs.write(text),
    fetch: (id: number, lane: string) =>
      `<fetch id="${id}" lane="${lane}" url="${site.url}${id}" file="${join(folder, String(id))}"/>`,
    /** Waits for `count` results; with a clock that stands still they leave when there is nothing else to do. */
    async until(count: number): Promise<string[]> {
      while (results().length < count) {
        clock.advance(10);
        await settle(1);
      }
      return results();
    },
  };
}

describe('a robot whose site asks to be left alone', () => {
  it('asks nothing more of it, and hands back what waits in the lane as if it had never been asked for', async () => {
    const site = await rawServer(socket => void socket.write(BUSY));
    const scene = await newScene(4, site);
    const ids = Array.from({ length: 50 }, (_, n) => n + 1);
    scene.say(ids.map(id => scene.fetch(id, '7')).join(''));
    const results = await scene.until(50);
    assert.deepEqual(results, ['1 429', ...ids.slice(1).map(id => `${id} recalled`)]);
    assert.equal(site.requests.length, 1);
  });

  it('asks nothing of the provider’s other lanes, but for what had begun', async () => {
    const begun: (() => void)[] = [];
    const site = await rawServer((socket, request) => {
      if (request.startsWith('GET /1 ')) begun.push(() => socket.write(BUSY));
      else begun.push(() => socket.write(answer('page')));
    });
    const scene = await newScene(4, site);
    for (const id of [1, 2, 3, 4, 5, 6, 7, 8, 9])
      scene.say(scene.fetch(id, ['7.2', '7', '7.1'][id % 3] ?? ''));
    scene.say(scene.fetch(10, '70') + scene.fetch(11, '70'));
    while (begun.length < 4) await settle(1);
    begun.shift()?.();
    await scene.until(7);
    begun.forEach(finish => finish());
    begun.length = 0;
    while (begun.length < 1) await settle(1);
    begun.shift()?.();
    const results = await scene.until(11);
    assert.equal(results[0], '1 429');
    assert.deepEqual(results.toSorted(), [
      '1 429',
      '10 ok',
      '11 ok',
      '2 ok',
      '3 ok',
      ...[4, 5, 6, 7, 8, 9].map(id => `${id} recalled`),
    ]);
    assert.equal(site.requests.length, 5);
  });

  it('hands back what still comes, until the lane is recalled: then whoever asks knows', async () => {
    const site = await rawServer((socket, _request, nth) => socket.write(nth === 1 ? BUSY : answer('page')));
    const scene = await newScene(4, site);
    scene.say(scene.fetch(1, '7'));
    await scene.until(1);
    scene.say(scene.fetch(2, '7') + scene.fetch(3, '7.1') + scene.fetch(4, '8'));
    assert.deepEqual((await scene.until(4)).toSorted(), ['1 429', '2 recalled', '3 recalled', '4 ok']);
    scene.say('<recall lane="7"/>' + scene.fetch(5, '7'));
    assert.equal((await scene.until(5)).at(-1), '5 ok');
    assert.equal(site.requests.length, 3);
  });

  it('asks it again once that time is over, where nobody recalls', async () => {
    const site = await rawServer((socket, _request, nth) => socket.write(nth === 1 ? BUSY : answer('page')));
    const scene = await newScene(4, site);
    scene.say(scene.fetch(1, '7'));
    await scene.until(1);
    scene.clock.advance(59_000);
    scene.say(scene.fetch(2, '7'));
    assert.equal((await scene.until(2)).at(-1), '2 recalled');
    scene.clock.advance(1000);
    scene.say(scene.fetch(3, '7'));
    assert.equal((await scene.until(3)).at(-1), '3 ok');
  });

  it('goes on with the lane when it only failed, or said no time', async () => {
    for (const sad of [answer('', '', '429 Too Many Requests'), answer('', 'Retry-After: 0\r\n', '503 No')]) {
      const site = await rawServer((socket, _request, nth) => socket.write(nth === 1 ? sad : answer('page')));
      const scene = await newScene(4, site);
      scene.say(scene.fetch(1, '7') + scene.fetch(2, '7'));
      assert.equal((await scene.until(2)).at(-1), '2 ok');
    }
  });
});
