/** In which order urls go to spiders, and what they wait for. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Scheduler } from '../../../src/spider/url-server/scheduler.js';
import { SpiderUrl } from '../../../src/spider/url-server/spider-url.js';

describe('the turns of urls', () => {
  it('gives the urls of a list out in their order, hosts by turns', () => {
    const sent: string[] = [];
    const scheduler = new Scheduler(
      { perHost: 10, hostDelayMs: 0, silenceMs: 1000, maxTries: 1, maxLosses: 1 },
      { ended: () => undefined, again: () => undefined },
    );
    const spider = scheduler.join({ isFull: false, send: (_id, { url }) => void sent.push(url) });
    for (const [i, path] of ['a/1', 'a/2', 'a/3', 'b/1', 'b/2', 'c/1'].entries())
      scheduler.add(
        new SpiderUrl({ number: i, docId: i, url: `http://${path}`, hostName: path.charAt(0) }),
        0,
      );
    scheduler.get(spider, 5);
    scheduler.pass(0);
    assert.deepEqual(sent, ['http://a/1', 'http://b/1', 'http://c/1', 'http://a/2', 'http://b/2']);
  });

  it('waits for the robots.txt of an origin with its urls alone, not with those of another port', () => {
    const sent: string[] = [];
    const known = new Set(['http://a:2']);
    const scheduler = new Scheduler(
      { perHost: 1, hostDelayMs: 0, silenceMs: 1000, maxTries: 1, maxLosses: 1 },
      {
        judge: ({ url }) => (known.has(new URL(url).origin) ? 'go' : 'asked'),
        ended: () => undefined,
        again: () => undefined,
      },
    );
    const ids: string[] = [];
    const spider = scheduler.join({
      isFull: false,
      send: (id, { url }) => {
        ids.push(id);
        sent.push(url);
      },
    });
    scheduler.get(spider, 10);
    for (const [i, path] of ['a:1/1', 'a:2/2', 'a:3/3', 'a:1/4', 'a:2/5'].entries())
      scheduler.add(new SpiderUrl({ number: i, docId: i, url: `http://${path}`, hostName: 'a' }), 0);
    const go = () => {
      scheduler.pass(0);
      for (const id of ids.splice(0)) scheduler.done(spider, id, 0);
    };
    for (let n = 0; n < 4; n++) go();
    assert.deepEqual(sent, ['http://a:2/2', 'http://a:2/5']);
    assert.deepEqual([scheduler.waiting, scheduler.hosts], [3, 1]);
    known.add('http://a:1');
    scheduler.robotsHeard('a', 0);
    for (let n = 0; n < 4; n++) go();
    assert.deepEqual(sent.slice(2), ['http://a:1/1', 'http://a:1/4']);
    known.add('http://a:3');
    scheduler.robotsHeard('a', 0);
    go();
    assert.deepEqual([sent.at(-1), scheduler.waiting, scheduler.hosts], ['http://a:3/3', 0, 0]);
  });

  it('gives a half to each of two spiders that have room', () => {
    const scheduler = new Scheduler(
      { perHost: 100, hostDelayMs: 0, silenceMs: 1000, maxTries: 1, maxLosses: 1 },
      { ended: () => undefined, again: () => undefined },
    );
    const sent = [0, 0];
    const spiders = sent.map((_, i) =>
      scheduler.join({ isFull: false, send: () => void (sent[i] = (sent[i] ?? 0) + 1) }),
    );
    for (const spider of spiders) scheduler.get(spider, 100);
    for (let number = 0; number < 100; number++)
      scheduler.add(new SpiderUrl({ number, docId: number, url: 'http://a/', hostName: 'a' }), 0);
    scheduler.pass(0);
    assert.deepEqual(sent, [50, 50]);
  });
});
