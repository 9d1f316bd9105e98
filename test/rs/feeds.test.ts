import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { FeedScene, HOUR, MIN, PID, rss } from './feed-scene.js';

describe('feeds of providers', () => {
  let scene: FeedScene;
  beforeEach(async () => {
    scene = await FeedScene.start();
  });
  afterEach(() => {
    assert.deepEqual(scene.failures, []);
    scene.close();
  });

  it('are polled every so often, conditionally; what is new or says something else is pushed, the feed is not', async () => {
    scene.feedHeaders = { etag: '"1"' };
    scene.feed = rss(scene.items(['/a', 'one'], ['/b', 'two']));
    scene.add();
    await scene.pass();
    assert.deepEqual(scene.taken(), ['/a', '/b']);
    assert.deepEqual(scene.asked(), ['GET /feed']);
    assert.equal(scene.stirred, 1);

    await scene.pass(29 * MIN);
    assert.deepEqual(scene.asked(), [], 'not before its time');
    await scene.pass(MIN);
    assert.deepEqual(scene.asked(), ['GET /feed if "1"']);
    assert.deepEqual(scene.taken(), []);

    scene.feedHeaders = { etag: '"2"' };
    scene.feed = rss(scene.items(['/c', 'new'], ['/a', 'one, edited'], ['/b', 'two']));
    await scene.pass(30 * MIN);
    assert.deepEqual(scene.taken(), ['/a', '/c']);
    assert.equal(scene.standing().items, 3);
    // An item that has left the feed and comes back says nothing new.
    scene.feedHeaders = { etag: '"3"' };
    scene.feed = rss(scene.items(['/c', 'new']));
    await scene.pass(30 * MIN);
    scene.feedHeaders = { etag: '"4"' };
    scene.feed = rss(scene.items(['/c', 'new'], ['/a', 'one, edited']));
    await scene.pass(30 * MIN);
    assert.deepEqual(scene.taken(), []);
  });

  it('without validators are read again only when their bytes differ', async () => {
    scene.feed = rss(scene.items(['/a', 'one']));
    scene.add();
    await scene.pass();
    const { digest } = scene.standing();
    await scene.pass(30 * MIN);
    assert.equal(scene.standing().digest, digest);
    scene.feed = rss(scene.items(['/a', 'other']));
    await scene.pass(30 * MIN);
    assert.deepEqual(scene.taken(), ['/a']);
  });

  it('push pages that an at:deleted-entry names: by its link, the url of the item, or an id that is one', async () => {
    const id = (path: string) => `<at:deleted-entry ref="${scene.urlOf(path)}" when="2026-01-01T00:00:00Z"/>`;
    const tagged = `<item><link>${scene.urlOf('/tagged')}</link><guid isPermaLink="false">tag:e,1</guid><title>t</title></item>`;
    scene.feed = rss(scene.items(['/a', 'one']), tagged);
    scene.add();
    await scene.pass();
    assert.deepEqual(scene.taken(), ['/a', '/tagged']);
    const linked = `<at:deleted-entry ref="tag:e,2" when="2026-01-02T00:00:00Z"><link href="${scene.urlOf('/linked?a=1&amp;b=2')}"/></at:deleted-entry>`;
    scene.feed = rss(
      scene.items(['/a', 'one']),
      `${id('/gone')}<at:deleted-entry ref='tag:e,1' when='x'></at:deleted-entry>${linked}`,
    );
    await scene.pass(30 * MIN);
    assert.deepEqual(scene.taken(), ['/gone', '/linked?a=1&b=2', '/tagged']);
    scene.feed = rss(scene.items(['/a', 'other']), `${id('/gone')}${linked}`);
    await scene.pass(30 * MIN);
    assert.deepEqual(scene.taken(), ['/a'], 'each once');
  });

  it('leave out what lies outside of the roots, has no link, or is beyond the 10,000th item, and count it', async () => {
    const many = Array.from({ length: 10_003 }, (_, i): [string, string] => [`/p/${i}`, 'x']);
    scene.feed = rss(
      { ...scene.items(...many), 'http://other.example.org/': 'x' },
      '<item><title>t</title></item>',
    );
    scene.add();
    await scene.pass();
    assert.equal(scene.taken().length, 10_000);
    assert.deepEqual([scene.standing().items, scene.standing().left], [10_005, 5]);
    scene.feed = rss(scene.items(...many.slice(0, 10), ['/new', 'x']));
    await scene.pass(30 * MIN);
    assert.deepEqual(scene.taken(), ['/new']);
    assert.equal(scene.db.feeds.marksOf(1).length, 10_000, 'marks are bounded, and keep the newest');
  });

  it('are read as feed2url reads them: packed, in their encoding, Atom and JSON', async () => {
    const atom = `<?xml version="1.0" encoding="iso-8859-1"?><feed xmlns="http://www.w3.org/2005/Atom"><id>i</id><title>t</title>
      <entry><id>1</id><title>t</title><link href="x/\u00e9"/></entry></feed>`;
    scene.site.answer = (request, response) =>
      void response.writeHead(200).end(
        request.url === '/feed'
          ? gzipSync(Buffer.from(atom, 'latin1'))
          : JSON.stringify({
              version: 'https://jsonfeed.org/version/1.1',
              title: 't',
              items: [{ id: '1', url: scene.urlOf('/json'), content_text: 'x' }],
            }),
      );
    scene.add();
    scene.add(HOUR, scene.urlOf('/feed.json'));
    await scene.pass();
    assert.deepEqual(scene.taken(), ['/json', '/x/%C3%A9']);
  });

  it('that fail are asked again later each time, and after Retry-After; what was due stays due', async () => {
    scene.feed = rss({});
    scene.add();
    await scene.pass();
    scene.feedStatus = 500;
    await scene.pass(30 * MIN);
    assert.match(scene.standing().trouble ?? '', /status 500/);
    for (const wait of [1, 2, 4, 8]) {
      scene.asked();
      await scene.pass(wait * MIN - 1000);
      assert.deepEqual(scene.asked(), [], `not before ${wait} min`);
      await scene.pass(1000);
      assert.deepEqual(scene.asked(), ['GET /feed']);
    }
    scene.feedStatus = 503;
    scene.feedHeaders = { 'retry-after': '7200' };
    await scene.pass(16 * MIN);
    scene.asked();
    scene.feedStatus = 200;
    scene.feed = rss(scene.items(['/a', 'x']));
    await scene.pass(119 * MIN);
    assert.deepEqual(scene.asked(), []);
    await scene.pass(MIN);
    assert.deepEqual(scene.taken(), ['/a']);
    assert.equal(scene.standing().trouble, undefined);
  });

  it('of a first reading have a hundred pages looked at, and the others only where nothing is held of them', async () => {
    const many = Array.from({ length: 250 }, (_, i): [string, string] => [`/p/${i}`, 'x']);
    scene.feed = rss(scene.items(...many));
    scene.add();
    await scene.pass();
    const due = scene.db.push.due(Number.MAX_SAFE_INTEGER, 1000);
    const looked = due.filter(({ ifabsent }) => ifabsent === 0).map(({ curl }) => curl.split('/').pop());
    assert.deepEqual([due.length, looked.length], [250, 100]);
    assert.ok(
      looked.every(name => Number(name) < 100),
      'the first ones of the feed',
    );
    scene.taken();
    scene.feed = rss(scene.items(...many.map(([path]): [string, string] => [path, 'edited'])));
    await scene.pass(30 * MIN);
    const later = scene.db.push.due(Number.MAX_SAFE_INTEGER, 1000);
    assert.equal(later.filter(({ ifabsent }) => ifabsent === 0).length, 250, 'what says something else');
  });

  it('go a day after their provider, and stay with one that is disabled', async () => {
    scene.feed = rss({});
    scene.add();
    scene.target = null;
    scene.isDisabled = true;
    for (let hour = 0; hour < 30; hour++) await scene.pass(HOUR);
    assert.equal(scene.db.feeds.of(PID).length, 1);
    scene.isDisabled = false;
    for (let hour = 0; hour < 24; hour++) await scene.pass(HOUR);
    assert.equal(scene.db.feeds.of(PID).length, 1);
    await scene.pass(HOUR);
    assert.deepEqual(scene.db.feeds.of(PID), []);
    assert.match(scene.lines.join(), /its provider is there no more/);
  });

  it('that are none, damaged, HTML, or too large fail in words, and push nothing', async () => {
    scene.add();
    for (const [text, words] of [
      ['<!doctype html><title>t</title><link rel="hub" href="http://h/">', /it is no feed/],
      [rss(scene.items(['/a', 'x'])).slice(0, -30), /cut off|damaged/],
      ['', /empty/],
      [`<rss><channel>${' '.repeat(9 * 1024 * 1024)}`, /too-large|larger/],
    ] as const) {
      scene.feed = text;
      await scene.pass(25 * HOUR);
      assert.match(scene.standing().trouble ?? '', words);
    }
    assert.deepEqual(scene.taken(), []);
    assert.equal(scene.hub.asked.length, 0);
  });

  it('of a provider that is gone, closed to feeds, without that root, or while nobody knows, are not asked, and say why', async () => {
    scene.feed = rss({});
    scene.add();
    const { target } = scene;
    assert.ok(target);
    scene.target = undefined;
    await scene.pass();
    assert.equal(scene.standing().trouble, undefined);
    for (const [told, words] of [
      [null, /no provider 7/],
      [{ ...target, doors: new Set(['ping', 'indexnow'] as const) }, /takes no pushes by feeds/],
      [scene.targetOf([scene.urlOf('/elsewhere/')]), /outside of the directories/],
    ] as const) {
      scene.target = told;
      await scene.pass(HOUR);
      assert.match(scene.standing().trouble ?? '', words);
    }
    assert.deepEqual(scene.asked(), []);
    scene.target = target;
    await scene.pass(HOUR);
    assert.deepEqual(scene.asked(), ['GET /feed']);
  });

  it('move marks and pushes in one transaction: what a kill interrupts is asked again', async () => {
    scene.feed = rss(scene.items(['/a', 'one']));
    scene.add();
    const offer = scene.db.push.offer.bind(scene.db.push);
    scene.db.push.offer = (...given) => {
      offer(...given);
      throw new Error('killed');
    };
    await scene.pass();
    assert.deepEqual(scene.failures.splice(0).map(String), ['Error: killed']);
    scene.reopen();
    assert.deepEqual(scene.taken(), []);
    await scene.pass();
    assert.deepEqual(scene.taken(), ['/a']);
  });

  it('are asked four at a time, one of a host', async () => {
    scene.feed = rss({});
    let [now, most] = [0, 0];
    const answer: typeof scene.site.answer = (_request, response) => {
      most = Math.max(most, ++now);
      setImmediate(() => {
        now--;
        response.end(rss({}));
      });
    };
    scene.site.answer = answer;
    for (let i = 0; i < 6; i++) scene.add(30 * MIN, scene.urlOf(`/f${i}`));
    await scene.pass();
    assert.equal(most, 1);
    assert.ok(scene.db.feeds.of(PID).every(({ standing }) => standing.readMs !== undefined));
  });

  it('survive a clock that was ahead', async () => {
    scene.feed = rss({});
    scene.clock.byMs = 400 * 24 * HOUR;
    scene.add();
    await scene.pass();
    scene.clock.byMs = 0;
    scene.asked();
    await scene.pass();
    await scene.pass(31 * MIN);
    assert.ok(scene.asked().length > 0);
  });

  it('are listed within bounds: inside of the roots, permitted ports, 20 of a provider, 1 min to 1 d', () => {
    const refused = (url: string, everyMs = HOUR) => {
      try {
        scene.book.add(PID, url, everyMs, scene.target?.roots ?? [], 'operator');
        return '';
      } catch (error) {
        return String(error);
      }
    };
    assert.match(refused('http://other.example.org/feed'), /outside of the directories/);
    assert.match(refused('ftp://e/'), /no http or https/);
    assert.match(refused(scene.feedUrl, MIN - 1), /between 1 min and 1 d/);
    assert.match(refused(scene.feedUrl, 25 * HOUR), /between 1 min and 1 d/);
    assert.match(refused(scene.feedUrl, NaN), /between 1 min and 1 d/);
    for (let i = 0; i < 20; i++) assert.equal(refused(scene.urlOf(`/f${i}`)), '');
    assert.match(refused(scene.urlOf('/f3')), /listed already/);
    assert.match(refused(scene.urlOf('/f20')), /there are 20 feeds/);
    scene.book.remove(PID, scene.urlOf('/f3'), 'operator');
    assert.equal(refused(scene.urlOf('/f20')), '');
    assert.throws(() => scene.book.remove(PID, scene.urlOf('/f3'), 'operator'), /not listed/);
  });

  it('go with what is known of them', async () => {
    scene.feed = rss(scene.items(['/a', 'one']), `<atom:link rel="hub" href="${scene.hub.url}"/>`);
    scene.add();
    await scene.pass();
    assert.equal(scene.hub.subscriptions.size, 1);
    scene.book.remove(PID, scene.feedUrl, 'operator');
    const [heard] = await scene.hub.publish(scene.feedUrl);
    assert.equal(heard?.status, 410);
    assert.equal(scene.hub.subscriptions.size, 0);
    scene.add();
    scene.taken();
    await scene.pass();
    assert.deepEqual(scene.taken(), ['/a'], 'its marks are gone');
  });
});
