/** `/ping`: the bytes that WordPress sends, what publishers of WebSub send, and what neither may do. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { until } from '../support/until.js';
import { FeedScene, MIN, rss } from './feed-scene.js';

let scene: FeedScene;
beforeEach(async () => {
  scene = await FeedScene.start();
  scene.feed = rss({ [scene.urlOf('/a')]: 'one' });
  scene.add();
  await scene.pass();
  scene.asked();
  scene.taken();
});
afterEach(() => {
  assert.deepEqual(scene.failures, []);
  scene.close();
});

const post = (body: string, type = 'text/xml', more: Record<string, string> = {}) =>
  fetch(`${scene.base}ping`, { method: 'POST', body, headers: { 'content-type': type, ...more } });
const form = (body: string) => post(body, 'application/x-www-form-urlencoded');

/** As IXR_Request of WordPress 6.1 writes it, byte by byte. */
function wordpress(method: string, ...params: string[]): string {
  const each = params.map(param => `<param><value><string>${param}</string></value></param>\n`).join('');
  return `<?xml version="1.0"?>\n<methodCall>\n<methodName>${method}</methodName>\n<params>\n${each}</params></methodCall>`;
}
const agent = { 'user-agent': 'The Incutio XML-RPC PHP Library -- WordPress/6.1.9' };

async function flerror(answer: Response): Promise<string> {
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get('content-type') ?? '', /^text\/xml/);
  const text = await answer.text();
  assert.match(text, /^<\?xml version="1.0"\?>\n<methodResponse><params><param><value><struct>/);
  return /<name>flerror<\/name><value><boolean>([01])<\/boolean>/.exec(text)?.[1] ?? '';
}

describe('/ping', () => {
  it('takes what WordPress sends: the feed is asked at once, and its news pushed', async () => {
    scene.feed = rss({ [scene.urlOf('/post')]: 'new' });
    const body = wordpress(
      'weblogUpdates.extendedPing',
      'A &amp; B&#8217;s &lt;blog&gt;',
      scene.urlOf('/'),
      scene.feedUrl,
    );
    assert.equal(await flerror(await post(body, 'text/xml', agent)), '0');
    await scene.settle();
    assert.deepEqual(scene.taken(), ['/post']);
    assert.equal(scene.db.push.counted.ping.sent, 1);
  });

  it('knows a feed by its url, by the home of its provider, by ping and extendedPing, with and without <string>', async () => {
    const { feedUrl } = scene;
    const bare = (...params: string[]) =>
      `<methodCall><methodName>weblogUpdates.ping</methodName><params>${params.map(each => `<param><value>${each}</value></param>`).join('')}</params></methodCall>`;
    for (const body of [
      wordpress('weblogUpdates.ping', 'name', scene.urlOf('/')),
      wordpress('weblogUpdates.ping', 'name', scene.urlOf('/blog/')),
      wordpress('weblogUpdates.extendedPing', 'name', 'http://elsewhere.example.org/', feedUrl),
      wordpress('weblogUpdates.extendedPing', 'name', 'http://elsewhere.example.org/', '', feedUrl),
      bare('name', feedUrl),
      `\ufeff<?xml version="1.0" encoding="iso-8859-1"?>${bare('name', feedUrl)}`.slice(1),
    ]) {
      assert.equal(await flerror(await post(body)), '0', body);
      await scene.settle();
      assert.equal(scene.asked().length, 1, body);
      scene.clock.byMs += MIN;
    }
  });

  it('asks nothing for what is not listed, says so, and notes the refusal', async () => {
    for (const [name, url] of [
      ['other', 'http://other.example.org/'],
      [scene.feedUrl, ''],
    ] as const)
      assert.equal(await flerror(await post(wordpress('weblogUpdates.ping', name, url))), '1');
    assert.equal((await form('hub.mode=publish&hub.url=http%3A%2F%2Fother.example.org%2F')).status, 404);
    await scene.settle();
    assert.deepEqual(scene.asked(), []);
    await until('it is noted', () =>
      scene.db.push
        .refusals(0, 10)
        .some(({ reason, urls }) => /no feed is listed/.test(reason) && urls === 3),
    );
  });

  it('takes WebSub publishers: up to 20 urls or topics', async () => {
    const one = `hub.url=${encodeURIComponent(scene.feedUrl)}`;
    assert.equal((await form(`hub.mode=publish&${one}`)).status, 204);
    await scene.settle();
    assert.equal(scene.asked().length, 1);
    scene.clock.byMs += MIN;
    const others = Array.from({ length: 19 }, (_, i) => `hub.topic=http%3A%2F%2Fe%2F${i}`).join('&');
    assert.equal((await form(`hub.mode=publish&${others}&${one}`)).status, 204);
    assert.equal((await form(`hub.mode=publish&${others}&${one}&${one}`)).status, 400);
    assert.equal((await form(`hub.mode=subscribe&${one}`)).status, 400);
    assert.equal((await form('hub.mode=publish')).status, 400);
    await scene.settle();
    assert.equal(scene.asked().length, 1);
  });

  it('asks once in 60 s, however many ping; the last one is not lost', async () => {
    for (let i = 0; i < 8; i++) await post(wordpress('weblogUpdates.ping', 'x', scene.urlOf('/')));
    await scene.settle();
    assert.equal(scene.asked().length, 1);
    scene.feed = rss({ [scene.urlOf('/late')]: 'x' });
    await post(wordpress('weblogUpdates.ping', 'x', scene.urlOf('/')));
    await scene.pass(59_000);
    assert.equal(scene.asked().length, 0);
    await scene.pass(1000);
    assert.deepEqual(scene.taken(), ['/late']);
  });

  it('shortens the back-off of a feed that fails, once in 60 s, and makes it no longer', async () => {
    const ping = () => post(wordpress('weblogUpdates.ping', 'x', scene.urlOf('/')));
    scene.feedStatus = 500;
    await scene.pass(30 * MIN);
    await scene.pass(MIN);
    await scene.pass(2 * MIN);
    await scene.pass(4 * MIN);
    scene.asked();
    // The next try is in 8 min.
    for (let i = 0; i < 4; i++) {
      await ping();
      await scene.settle();
      assert.equal(scene.asked().length, 1, `ping ${i}`);
      await scene.pass(MIN);
      assert.equal(scene.asked().length, 0, 'a ping that has failed waits as the feed does');
    }
    assert.equal(scene.standing().failures, 4);
    await scene.pass(3 * MIN);
    assert.equal(scene.asked().length, 0);
    await scene.pass(MIN);
    assert.equal(scene.asked().length, 1, 'the back-off is over as it was');
    scene.feedStatus = 200;
    scene.feed = rss({ [scene.urlOf('/new')]: 'x' });
    await ping();
    await scene.pass(MIN);
    assert.deepEqual(scene.taken(), ['/new']);
  });

  it('never shortens what the site asks for by Retry-After', async () => {
    scene.feedStatus = 503;
    scene.feedHeaders = { 'retry-after': '1800' };
    await scene.pass(30 * MIN);
    scene.asked();
    scene.feedStatus = 200;
    scene.feedHeaders = {};
    await post(wordpress('weblogUpdates.ping', 'x', scene.urlOf('/')));
    await scene.pass(29 * MIN);
    assert.deepEqual(scene.asked(), []);
    await scene.pass(MIN);
    assert.equal(scene.asked().length, 1);
  });

  it('has a feed looked at that could not be asked, as soon as it may be', async () => {
    const { target } = scene;
    assert.ok(target);
    scene.target = { ...target, doors: new Set(['ping'] as const) };
    await scene.pass(30 * MIN);
    assert.match(scene.standing().trouble ?? '', /takes no pushes by feeds/);
    scene.target = target;
    await post(wordpress('weblogUpdates.ping', 'x', scene.urlOf('/')));
    await scene.settle();
    assert.equal(scene.asked().length, 1);
    assert.equal(scene.standing().trouble, undefined);
  });

  it('a ping that comes while the feed is asked has it asked again', async () => {
    const answer = scene.site.answer;
    let pinged: Promise<unknown> | undefined;
    scene.site.answer = (request, response) => {
      scene.site.answer = answer;
      pinged = post(wordpress('weblogUpdates.ping', 'x', scene.urlOf('/'))).then(() => {
        scene.feed = rss({ [scene.urlOf('/after')]: 'x' });
        response.end(rss({ [scene.urlOf('/before')]: 'x' }));
      });
      request.resume();
    };
    await post(wordpress('weblogUpdates.ping', 'x', scene.urlOf('/')));
    await scene.settle();
    await pinged;
    await scene.settle();
    assert.deepEqual(scene.taken(), ['/before']);
    await scene.pass(MIN);
    assert.deepEqual(scene.taken(), ['/after']);
  });

  it('is answered before anything is asked', async () => {
    let isAsked = false;
    scene.site.answer = () => void (isAsked = true);
    const answer = await post(wordpress('weblogUpdates.ping', 'x', scene.urlOf('/')));
    assert.equal(answer.status, 200, 'the site does not answer at all');
    assert.ok(scene.standing().dueMs !== undefined || isAsked);
    scene.site.close();
  });

  it('refuses what is no ping in one line with its place, and takes no entities, CDATA or document types', async () => {
    const entity = `<?xml version="1.0"?><!DOCTYPE m [<!ENTITY x SYSTEM "file:///etc/passwd">]><methodCall><methodName>weblogUpdates.ping</methodName><params><param><value>&x;</value></param></params></methodCall>`;
    const laughs = `<methodCall><methodName>weblogUpdates.ping</methodName><params><param><value>&lol;</value></param></params></methodCall>`;
    for (const [body, words] of [
      [entity, /ping:1:\d+: a document type/],
      [laughs, /ping:1:\d+/],
      ['<methodCall><![CDATA[x]]></methodCall>', /ping:1:\d+: a CDATA/],
      ['<methodCall>', /ping:1:\d+: the input ends inside/],
      ['{"json":true}', /ping:1:1/],
      ['', /the method is none of/],
      [wordpress('system.listMethods'), /the method is none of/],
      ['<a>'.repeat(20), /nested deeper/],
      [Buffer.from([0xff, 0xfe, 0x00]).toString('latin1'), /ping/],
    ] as const) {
      const answer = await post(body);
      const text = await answer.text();
      assert.equal(answer.status, 400, body);
      assert.match(text, words);
      assert.equal(text.trimEnd().split('\n').length, 1);
    }
    assert.equal((await post(wordpress('weblogUpdates.ping', 'x'.repeat(17_000), 'y'))).status, 413);
    const got = await fetch(`${scene.base}ping`);
    assert.deepEqual([got.status, got.headers.get('allow')], [405, 'POST']);
    await scene.settle();
    assert.deepEqual(scene.asked(), []);
  });

  it('is closed for a provider by lccpidb set --push, and for a sender that sends too often', async () => {
    assert.ok(scene.target);
    scene.target = { ...scene.target, doors: new Set(['feed'] as const) };
    await scene.pass(31 * MIN);
    scene.asked();
    assert.equal(await flerror(await post(wordpress('weblogUpdates.ping', 'x', scene.urlOf('/')))), '1');
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => post(wordpress('weblogUpdates.ping', 'x', scene.urlOf('/')))),
    );
    const [refused] = answers.filter(({ status }) => status === 429);
    assert.equal(refused?.headers.get('retry-after'), '1');
    await scene.settle();
    assert.deepEqual(scene.asked(), []);
  });
});
