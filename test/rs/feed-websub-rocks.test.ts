/** The subscriber: the fourteen cases of websub.rocks, rewritten. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { FeedScene, HOUR, MIN, rss } from './feed-scene.js';
import { TestHub } from '../support/hub.js';

let scene: FeedScene;
beforeEach(async () => {
  scene = await FeedScene.start();
});
afterEach(() => {
  assert.deepEqual(scene.failures, []);
  scene.close();
});
const selfLink = (path: string) => `<atom:link rel="self" href="${scene.urlOf(path)}"/>`;
const topics = () => scene.hub.asked.map(form => form.get('hub.topic'));

describe('websub.rocks, subscriber', () => {
  it('100: finds hub and topic in Link headers', async () => {
    scene.feedHeaders = { link: `<${scene.hub.url}>; rel="hub", <${scene.urlOf('/self')}>; rel="self"` };
    scene.feed = rss(scene.items(['/a', 'one']));
    scene.add();
    await scene.pass();
    assert.deepEqual(topics(), [scene.urlOf('/self')]);
    assert.equal(scene.standing().state, 'active');
  });

  it('101: takes no HTML for a topic: a page is no feed, and is told so', async () => {
    scene.feed = `<!doctype html><html><head><link rel="hub" href="${scene.hub.url}"><link rel="self" href="/"></head></html>`;
    scene.add();
    await scene.pass();
    assert.deepEqual(topics(), []);
    assert.match(scene.standing().trouble ?? '', /no feed/);
  });

  it('102: finds them in Atom', async () => {
    scene.feed = `<feed xmlns="http://www.w3.org/2005/Atom"><id>i</id><title>t</title><link rel="hub" href="${scene.hub.url}"/>
      <link rel="self" href="${scene.urlOf('/atom')}"/><entry><id>1</id><title>t</title><link href="/a"/></entry></feed>`;
    scene.add();
    await scene.pass();
    assert.deepEqual(topics(), [scene.urlOf('/atom')]);
  });

  it('103: finds them in RSS', async () => {
    scene.feed = rss({}, scene.hubLink(selfLink('/rss')));
    scene.add();
    await scene.pass();
    assert.deepEqual(topics(), [scene.urlOf('/rss')]);
  });

  it('104: believes headers before the document', async () => {
    const other = await TestHub.listen();
    scene.feedHeaders = { link: `<${scene.hub.url}>; rel=hub, <${scene.urlOf('/header')}>; rel="self"` };
    scene.feed = rss({}, `<atom:link rel="hub" href="${other.url}"/>${selfLink('/document')}`);
    scene.add();
    await scene.pass();
    assert.deepEqual(topics(), [scene.urlOf('/header')]);
    assert.equal(other.asked.length, 0);
    other.close();
  });

  it('200: subscribes to rel=self where it is another url of the provider, and to nobody else’s', async () => {
    scene.feed = rss({}, scene.hubLink(selfLink('/other-self')));
    scene.add();
    await scene.pass();
    scene.feed = rss({}, scene.hubLink('<atom:link rel="self" href="http://other.example.org/feed"/>'));
    await scene.pass(6 * HOUR);
    await scene.pass(10 * MIN);
    assert.deepEqual(topics(), [scene.urlOf('/other-self'), scene.feedUrl]);
  });

  for (const [name, status] of [
    ['201: a temporary', 302],
    ['202: a permanent', 301],
  ] as const)
    it(`${name} redirect of the feed is followed; the hub is found there, the topic is its rel=self`, async () => {
      scene.site.pages.set('/moved', rss(scene.items(['/a', 'x']), scene.hubLink(selfLink('/moved'))));
      scene.feed = '';
      scene.feedStatus = status;
      scene.feedHeaders = { location: '/moved' };
      scene.add();
      await scene.pass();
      assert.deepEqual(topics(), [scene.urlOf('/moved')]);
      assert.deepEqual(scene.taken(), ['/a']);
    });

  for (const [name, status] of [
    ['203: a temporary', 307],
    ['204: a permanent', 308],
  ] as const)
    it(`${name} redirect of the hub is followed once, on its host`, async () => {
      const front = await TestHub.listen();
      scene.ports = [...scene.ports, String(front.port)];
      scene.reopen();
      front.behave({ status, location: scene.hub.url });
      scene.feed = rss({}, `<atom:link rel="hub" href="${front.url}"/>`);
      scene.add();
      await scene.pass();
      assert.equal(scene.hub.asked.length, 0, 'another port is another host');
      assert.match(scene.standing().hubTrouble ?? '', new RegExp(String(status)));
      // On the same host: a hub that leads to itself elsewhere.
      scene.hub.behave({ status, location: `${scene.hub.url}/there` });
      scene.feed = rss({}, scene.hubLink());
      await scene.pass(HOUR);
      await scene.pass(10 * MIN);
      assert.equal(scene.hub.asked.length, 0, 'once');
      assert.equal(scene.standing().state, 'lapsed');
      front.close();
    });

  it('205: rejects a verification for another topic, and of what is not pending', async () => {
    scene.hub.behave({ topic: 'http://other.example.org/feed' });
    scene.feed = rss({}, scene.hubLink());
    scene.add();
    await scene.pass();
    assert.deepEqual(
      scene.hub.verified.map(({ status }) => status),
      [404],
    );
    assert.equal(scene.standing().state, 'asked');
    const callback = scene.hub.asked[0]?.get('hub.callback') ?? '';
    const topic = encodeURIComponent(scene.feedUrl);
    const status = async (query: string, at = callback) => (await fetch(`${at}?${query}`)).status;
    assert.equal(await status(`hub.mode=unsubscribe&hub.topic=${topic}&hub.challenge=x`), 404);
    assert.equal(await status(`hub.mode=subscribe&hub.topic=${topic}`), 404);
    assert.equal(
      await status(`hub.mode=subscribe&hub.topic=${topic}&hub.challenge=${'x'.repeat(1025)}`),
      404,
    );
    assert.equal(await status(`hub.mode=subscribe&hub.topic=${topic}&hub.challenge=x`, `${callback}x`), 404);
    const right = await fetch(
      `${callback}?hub.mode=subscribe&hub.topic=${topic}&hub.challenge=${'y'.repeat(1024)}&hub.lease_seconds=100`,
    );
    assert.equal(right.status, 200);
    assert.match(right.headers.get('content-type') ?? '', /^text\/plain/);
    assert.equal(await right.text(), 'y'.repeat(1024));
    assert.equal(await status(`hub.mode=subscribe&hub.topic=${topic}&hub.challenge=x`), 404, 'once');
    await scene.settle();
  });

  it('300: a delivery is answered 2xx, fat, thin or HTML, once the feed is due on disk', async () => {
    await scene.subscribed();
    for (const push of [
      { body: rss(scene.items(['/fat', 'x'])) },
      { body: '' },
      { body: '<!doctype html>', type: 'text/html' },
    ]) {
      scene.feed = rss(scene.items(['/a', 'one'], [`/${scene.counts.pushes}`, 'x']), scene.hubLink());
      const [heard] = await scene.hub.publish(scene.feedUrl, push);
      assert.equal(heard?.status, 202);
      await scene.settle();
      await scene.pass(MIN);
    }
    assert.deepEqual(scene.taken(), ['/0', '/1', '/2'], 'what was pushed is not read, the feed is');
    assert.equal(scene.counts.pushes, 3);
  });

  it('301: a wrong signature has no effect, whatever it is made of', async () => {
    await scene.subscribed();
    const wrong = [
      { secret: 'another' },
      { signature: 'sha256=00' },
      { signature: `sha256=${'0'.repeat(64)}` },
      { signature: `md5=${'0'.repeat(32)}` },
      { signature: 'nonsense' },
      { method: 'md5' },
    ];
    for (const push of wrong) {
      const [heard] = await scene.hub.publish(scene.feedUrl, { body: 'x', ...push });
      assert.equal(heard?.status, 202);
    }
    await scene.settle();
    assert.deepEqual(scene.asked(), []);
    assert.equal(scene.counts.unsigned, wrong.length);
    for (const method of ['sha1', 'sha256', 'sha384', 'sha512']) {
      await scene.hub.publish(scene.feedUrl, { body: method, method });
      await scene.settle();
      await scene.pass(MIN);
      assert.equal(scene.asked().length, 1, method);
    }
  });

  it('302: a delivery without a signature has no effect', async () => {
    await scene.subscribed();
    const [heard] = await scene.hub.publish(scene.feedUrl, { body: 'x', method: '' });
    assert.equal(heard?.status, 202);
    await scene.settle();
    assert.deepEqual(scene.asked(), []);
  });
});
