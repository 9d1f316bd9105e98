/** Requests of a Bot Manager on their way to spiders and back; the Bot Manager's end is the real one. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLog } from '../../../src/lib/log.js';
import { ManagerSource } from '../../../src/spider/url-server/manager-source.js';
import { SpiderUrl } from '../../../src/spider/url-server/spider-url.js';
import { RobotPeer } from '../../../src/wire/bm-bot.js';
import type { RobotRequest, RobotResult } from '../../../src/wire/fetch.js';
import { channelOptions, ends, settle } from '../../support/duplex.js';

function scene(slots = () => 3) {
  const options = channelOptions();
  const { ours, theirs } = ends(false);
  /** Urls that the URL server was given, by their path. */
  const given = new Map<string, SpiderUrl>();
  const collected: RobotRequest[] = [];
  const source = new ManagerSource({
    channel: options,
    clock: options.clock,
    log: createLog({ name: 'test', level: 'error', human: false, write: () => undefined }),
    maxWaiting: 100,
    idsOf: urls => urls.map(url => url.length),
    collect: (_docId, request) => {
      collected.push(request);
      return Promise.resolve({ id: request.id, status: 'unchanged', http: 304, wireBytes: 0, elapsedMs: 0 });
    },
    slots,
    fail: error => assert.fail(String(error)),
  });
  const said: string[] = [];
  const offers: number[] = [];
  const manager = new RobotPeer(
    theirs,
    {
      hello: count => void offers.push(count),
      fetched: result => void said.push(`${result.id} ${wordOf(result)}`),
      closed: () => void said.push('closed'),
    },
    { ...options, pingIntervalMs: 60_000, helloTimeoutMs: 10_000 },
  );
  source.serve(ours, 'manager');
  void (async () => {
    for await (const batch of source.batches())
      for (const terms of batch) given.set(new URL(terms.url).pathname, new SpiderUrl(terms));
  })();
  let id = 0;
  const ask = (path: string, lane: string) =>
    manager.fetch(++id, `/store/${id}`, { url: `http://h${path}`, roots: [], lane });
  /** A spider gets a url that may still be sent. */
  const send = (path: string) => {
    const url = given.get(path);
    assert.ok(url, path);
    const isGivenUp = source.isGivenUp(url);
    url.become(isGivenUp ? 'failed' : 'out');
    if (isGivenUp) source.ended(url, 'given up');
    return !isGivenUp;
  };
  const done = (path: string) => {
    const url = given.get(path);
    url?.become('done');
    if (url !== undefined) source.ended(url, undefined);
  };
  return { ours, source, manager, options, given, collected, said, offers, ask, send, done };
}

function wordOf(result: RobotResult): string {
  return result.status === 'error' ? `error ${result.code}` : result.status;
}

describe('requests of a Bot Manager', () => {
  it('have their turn one after the other in a lane, and lanes beside each other', async () => {
    const { given, said, ask, send, done } = scene();
    for (const path of ['/a1', '/a2']) ask(path, 'a');
    ask('/b1', 'b');
    await settle();
    assert.deepEqual([...given.keys()], ['/a1', '/b1']);
    assert.ok(send('/b1') && send('/a1'));
    done('/b1');
    await settle();
    assert.deepEqual(said, ['3 unchanged']);
    assert.ok(!given.has('/a2'));
    done('/a1');
    await settle();
    assert.ok(given.has('/a2'));
    assert.deepEqual(said, ['3 unchanged', '1 unchanged']);
  });

  it('are given back when their lane is recalled, what no spider has at once', async () => {
    const { manager, said, ask, send, done, given } = scene();
    for (const path of ['/a1', '/a2']) ask(path, 'a');
    ask('/b1', 'b');
    ask('/b2', 'b');
    await settle();
    assert.ok(send('/b1'));
    manager.recall('a');
    manager.recall('b');
    await settle();
    assert.deepEqual(said, ['2 recalled', '1 recalled', '4 recalled']);
    assert.ok(!send('/a1'), 'it is not begun any more');
    done('/b1');
    ask('/a3', 'a');
    await settle();
    assert.deepEqual(said.slice(3), ['3 unchanged']);
    assert.ok(given.has('/a3'));
  });

  it('that a spider has keep their lane shut when they are given up, and are answered once', async () => {
    const { manager, said, ask, send, done, given, collected } = scene();
    ask('/a1', 'a');
    await settle();
    assert.ok(send('/a1'));
    manager.recall('a', true);
    ask('/a2', 'a');
    await settle();
    assert.deepEqual(said, ['1 error 605']);
    assert.ok(!given.has('/a2'));
    done('/a1');
    await settle();
    assert.ok(given.has('/a2'));
    assert.deepEqual([said, collected], [['1 error 605'], []]);
  });

  it('fail when spiders do, or cannot be sent', async () => {
    const { source, said, ask, send, given, manager } = scene();
    ask('/a1', 'a');
    manager.fetch(9, '/store/9', { url: 'ftp://h/', roots: [], lane: 'f' });
    await settle();
    assert.ok(send('/a1'));
    const url = given.get('/a1');
    url?.become('failed');
    if (url !== undefined) source.ended(url, 'silent spiders');
    await settle();
    assert.deepEqual(said, ['9 error 611', '1 error 603']);
  });

  it('of a connection that is lost are not begun, and not answered', async () => {
    const { ours, ask, send, done, given, collected, source } = scene();
    for (const path of ['/a1', '/a2']) ask(path, 'a');
    ask('/b1', 'b');
    await settle();
    assert.ok(send('/b1'));
    ours.destroy();
    await settle();
    done('/b1');
    assert.ok(!send('/a1'));
    await settle();
    assert.deepEqual([[...given.keys()], collected, source.waiting], [['/a1', '/b1'], [], 0]);
  });

  it('are as many at a time as spiders have room for: more at once, fewer after a moment', async () => {
    let slots = 0;
    const { source, offers, options } = scene(() => slots);
    const offer = async (count: number) => {
      slots = count;
      source.offer();
      await settle();
    };
    for (const count of [8, 7, 8, 6, 5, 9]) await offer(count);
    assert.deepEqual(offers, [0, 8, 9]);
    await offer(4);
    options.clock.advance(500);
    await settle();
    assert.deepEqual(offers, [0, 8, 9, 4]);
    source.drain();
    await settle();
    assert.deepEqual(offers, [0, 8, 9, 4, 0]);
  });
});
