/** No feed, hub, redirect or name has lccd-rs connect to an address that nobody permits. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Resolve } from '../../src/fetch/connect.js';
import { FeedScene, PID, rss } from './feed-scene.js';

const HOUR = 3_600_000;
/** The address that the canary has; the site has 127.0.0.1, which is permitted. */
const CANARY = '127.0.0.3';

describe('inner addresses', () => {
  let scene: FeedScene;
  let canary: Server;
  let port = 0;
  let visits = 0;
  /** Where names lead, one answer after the other; the last one stays. */
  const names = new Map<string, string[]>();
  const resolve: Resolve = (hostname, _options, callback) => {
    const answers = names.get(hostname);
    const [address] = answers ?? [];
    if (answers !== undefined && answers.length > 1) answers.shift();
    if (address === undefined) callback(Object.assign(new Error('unknown'), { code: 'ENOTFOUND' }), []);
    else callback(null, [{ address, family: address.includes(':') ? 6 : 4 }]);
  };

  beforeEach(async () => {
    visits = 0;
    names.clear();
    canary = createServer(socket => {
      visits++;
      socket.destroy();
    });
    canary.listen(0, CANARY);
    await once(canary, 'listening');
    ({ port } = canary.address() as AddressInfo);
    scene = await FeedScene.start();
    scene.allowed = ['127.0.0.1/32'];
    scene.resolve = resolve;
    scene.ports = [...scene.ports, String(port)];
    scene.reopen();
  });
  afterEach(() => {
    assert.deepEqual(scene.failures, []);
    scene.close();
    canary.close();
  });

  const hosts = () => [
    CANARY,
    '2130706435',
    '0x7f000003',
    '127.3',
    '[::ffff:127.0.0.3]',
    '169.254.169.254',
    '[::1]',
    'inner',
    'named.example.org',
  ];

  it('are not asked for a feed, however they are written, by no name, and by none that changes its answer', async () => {
    names.set('inner', [CANARY]);
    names.set('named.example.org', [CANARY]);
    names.set('changing.example.org', ['127.0.0.1', CANARY]);
    for (const host of [...hosts(), 'changing.example.org']) {
      const url = `http://${host}:${port}/feed`;
      const root = new URL('/', url).href;
      scene.target = scene.targetOf([root]);
      scene.book.add(PID, url, HOUR, [root], 'operator');
      await scene.pass();
      await scene.pass(25 * HOUR);
      const [feed] = scene.db.feeds.of(PID);
      assert.ok(feed?.standing.trouble !== undefined, host);
      scene.book.remove(PID, url, 'operator');
    }
    assert.equal(visits, 0);
  });

  it('are not asked where a feed leads there: a redirect stays in the roots, and the guard looks at each', async () => {
    names.set('named.example.org', [CANARY]);
    for (const host of hosts()) {
      const at = `http://${host}:${port}/`;
      scene.target = scene.targetOf([scene.urlOf('/'), at]);
      scene.feed = '';
      scene.feedStatus = 302;
      scene.feedHeaders = { location: at };
      if (scene.db.feeds.of(PID).length === 0) scene.add();
      await scene.pass(25 * HOUR);
      assert.ok(scene.standing().trouble !== undefined, host);
    }
    scene.target = scene.targetOf([scene.urlOf('/')]);
    scene.feedHeaders = { location: 'http://127.0.0.1:1/' };
    await scene.pass(25 * HOUR);
    assert.match(scene.standing().trouble ?? '', /redirect-outside/);
    assert.equal(visits, 0);
  });

  it('are not asked for a hub, nor where a hub leads', async () => {
    names.set('inner', [CANARY]);
    names.set('named.example.org', [CANARY]);
    names.set('changing.example.org', ['127.0.0.1', CANARY]);
    const tried: string[] = [];
    for (const host of [...hosts(), 'changing.example.org']) {
      scene.feed = rss({}, `<atom:link rel="hub" href="http://${host}:${port}/hub"/>`);
      if (scene.db.feeds.of(PID).length === 0) scene.add();
      await scene.pass(25 * HOUR);
      await scene.pass(HOUR);
      tried.push(scene.standing().hubTrouble ?? '');
    }
    assert.ok(
      tried
        .slice(0, -1)
        .every(text => /^the hub: its address is not permitted \(bot\.allow_addresses\): ./.test(text)),
      tried.join('\n'),
    );
    scene.hub.behave({ status: 307, location: `http://${CANARY}:${port}/hub` });
    scene.feed = rss({}, `<atom:link rel="hub" href="${scene.hub.url}"/>`);
    await scene.pass(25 * HOUR);
    await scene.pass(HOUR);
    scene.feed = rss({}, `<atom:link rel="hub" href="http://127.0.0.1:22/hub"/>`);
    await scene.pass(25 * HOUR);
    await scene.pass(HOUR);
    assert.match(scene.standing().hubTrouble ?? '', /port 22 is not permitted \(rs\.ports\)/);
    assert.equal(visits, 0);
  });
});
