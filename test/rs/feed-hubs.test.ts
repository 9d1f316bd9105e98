/** Hubs that are not as they should be, and what the poll does beside them. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { withoutCapability } from '../../src/rs/refused-requests.js';
import { FeedScene, HOUR, MIN, rss } from './feed-scene.js';
import { TestHub } from '../support/hub.js';

const DAY = 24 * HOUR;

let scene: FeedScene;
beforeEach(async () => {
  scene = await FeedScene.start();
});
afterEach(() => {
  assert.deepEqual(scene.failures, []);
  scene.close();
});

describe('hubs', () => {
  it('are asked for 10 days, with a token and a secret that rs.db does not have', async () => {
    await scene.subscribed();
    const [form] = scene.hub.asked;
    assert.equal(form?.get('hub.mode'), 'subscribe');
    assert.equal(form?.get('hub.lease_seconds'), '864000');
    const [callback = '', secret = ''] = ['callback', 'secret'].map(name => form?.get(`hub.${name}`) ?? '');
    const token = callback.slice(callback.lastIndexOf('/') + 1);
    assert.match(callback, /\/base\/websub\/[\w-]{27}$/);
    assert.match(secret, /^[0-9a-f]{40}$/);
    const { readFileSync, readdirSync, statSync } = await import('node:fs');
    const rs = `${scene.dir}/rs`;
    for (const file of readdirSync(rs).filter(name => name.startsWith('rs.db'))) {
      const bytes = readFileSync(`${rs}/${file}`);
      assert.ok(!bytes.includes(token) && !bytes.includes(secret), file);
    }
    assert.equal(statSync(`${rs}/websub.key`).mode & 0o777, 0o600);
    // Nor does a log, whatever fails.
    scene.hub.behave({ status: 500 });
    scene.feedStatus = 500;
    await scene.pass(8 * DAY);
    assert.ok(scene.lines.length > 0);
    for (const form of scene.hub.asked)
      for (const name of ['callback', 'secret']) {
        const hidden = (form.get(`hub.${name}`) ?? '').split('/').at(-1) ?? '';
        assert.ok(!scene.lines.join('').includes(hidden), name);
      }
    assert.equal(withoutCapability(new URL(callback).pathname), '/base/websub/ID');
  });

  it('are believed for 14 days at most, and renewed with a third of the lease left, under another token', async () => {
    scene.hub.behave({ leaseSeconds: 90 * 86_400 });
    await scene.subscribed();
    const { leaseMs = 0 } = scene.standing();
    assert.ok(leaseMs - scene.clock.nowMs() <= 14 * DAY);
    const callbacks = () => scene.hub.asked.map(each => each.get('hub.callback'));
    await scene.pass(9.3 * DAY);
    assert.equal(scene.hub.asked.length, 1);
    await scene.pass(0.1 * DAY);
    assert.equal(new Set(callbacks()).size, 2);
    assert.equal(scene.standing().state, 'active');
    // The old one is good for an hour more.
    const [old, now] = callbacks().map(callback => scene.hub.subscriptions.get(callback ?? ''));
    assert.ok(old && now);
    assert.equal((await scene.hub.deliver(old)).status, 202);
    assert.equal(scene.counts.pushes, 1);
    scene.clock.byMs += 61 * MIN;
    assert.equal((await scene.hub.deliver(old)).status, 410);
    assert.equal((await scene.hub.deliver(now)).status, 202);
    await scene.settle();
  });

  it('with a lease of 20 s are renewed in time, again and again', async () => {
    scene.hub.behave({ leaseSeconds: 20 });
    scene.feed = rss({}, scene.hubLink());
    scene.add();
    await scene.pass();
    const asked = scene.hub.asked.length;
    for (let i = 0; i < 5; i++) {
      await scene.pass(14_000);
      assert.equal(scene.standing().state, 'active');
      assert.ok((scene.standing().leaseMs ?? 0) > scene.clock.nowMs());
    }
    assert.equal(scene.hub.asked.length, asked + 5);
  });

  it('that are silent are asked again later each time; the poll goes on as without', async () => {
    scene.hub.behave({ verifies: false });
    scene.feed = rss(scene.items(['/a', 'one']), scene.hubLink());
    scene.add();
    await scene.pass();
    assert.equal(scene.standing().state, 'asked');
    await scene.pass(10 * MIN);
    assert.equal(scene.standing().state, 'lapsed');
    assert.match(scene.standing().hubTrouble ?? '', /not verified/);
    await scene.pass(MIN);
    assert.equal(scene.hub.asked.length, 2);
    scene.asked();
    await scene.pass(20 * MIN);
    assert.deepEqual(scene.asked(), ['GET /feed']);
    scene.hub.behave();
    await scene.pass(10 * MIN);
    await scene.pass(10 * MIN);
    assert.equal(scene.standing().state, 'active');
  });

  it('that are dead, answer 5xx, or refuse, are LAPSED or DENIED with the reason, and asked again', async () => {
    const { url } = scene.hub;
    scene.feed = rss({}, `<atom:link rel="hub" href="${url}"/>`);
    scene.hub.behave({ status: 500 });
    scene.add();
    await scene.pass();
    assert.equal(scene.standing().state, 'lapsed');
    assert.match(scene.standing().hubTrouble ?? '', /500/);
    scene.hub.behave({ status: 403 });
    await scene.pass(MIN);
    assert.equal(scene.standing().state, 'denied');
    await scene.pass(23 * HOUR);
    assert.equal(scene.hub.asked.length, 2);
    scene.hub.behave({ denies: 'not\r\nyou' });
    await scene.pass(HOUR);
    assert.equal(scene.standing().state, 'denied');
    assert.match(scene.standing().hubTrouble ?? '', /the hub refuses: not you/);
    scene.hub.close();
    await scene.pass(DAY);
    assert.equal(scene.standing().state, 'lapsed');
    assert.match(scene.standing().hubTrouble ?? '', /refused/);
    scene.hub = await TestHub.listen();
  });

  it('may end a subscription that was verified; then the feed is polled as without', async () => {
    await scene.subscribed();
    const [subscription] = scene.hub.subscriptions.values();
    assert.ok(subscription);
    assert.equal((await scene.hub.deny(subscription, 'over')).status, 200);
    await scene.settle();
    assert.equal(scene.standing().state, 'denied');
    scene.asked();
    await scene.pass(30 * MIN);
    assert.deepEqual(scene.asked(), ['GET /feed']);
  });

  it('whose lease ends without a renewal are LAPSED', async () => {
    await scene.subscribed();
    scene.hub.behave({ verifies: false });
    await scene.pass(7 * DAY);
    assert.equal(scene.standing().state, 'renewing');
    await scene.pass(2 * DAY);
    assert.equal(scene.standing().state, 'renewing');
    await scene.pass(2 * DAY);
    assert.equal(scene.standing().state, 'lapsed');
  });

  it('another hub, topic, or none any more ends the subscription, and a feed that changes hubs asks six an hour', async () => {
    await scene.subscribed();
    const other = await TestHub.listen();
    scene.ports = [...scene.ports, String(other.port)];
    scene.reopen();
    scene.feed = rss({}, `<atom:link rel="hub" href="${other.url}"/>`);
    const [subscription] = scene.hub.subscriptions.values();
    assert.ok(subscription);
    await scene.hub.deliver(subscription);
    await scene.settle();
    assert.equal(scene.standing().state, 'none');
    assert.equal((await scene.hub.deliver(subscription)).status, 410);
    assert.equal(other.asked.length, 0, 'not sooner than 10 min after the last');
    await scene.pass(10 * MIN);
    await other.settled();
    assert.equal(scene.standing().state, 'active');
    assert.equal(other.asked.length, 1);
    await scene.settle();
    scene.feed = rss({});
    await scene.pass(6 * HOUR);
    assert.deepEqual([scene.standing().state, scene.standing().hub], ['none', undefined]);
    other.close();
  });

  it('that push make the feed be polled each 6 h; two misses, and it is polled as without, until two pushes', async () => {
    await scene.subscribed();
    await scene.pass(5 * HOUR);
    assert.deepEqual(scene.asked(), []);
    let n = 0;
    const news = () => (scene.feed = rss(scene.items(['/a', `${n++}`]), scene.hubLink()));
    for (const misses of [1, 2]) {
      news();
      await scene.pass(6 * HOUR);
      assert.equal(scene.asked().length, 1);
      await scene.pass(10 * MIN);
      assert.equal(scene.standing().misses, misses);
    }
    await scene.pass(30 * MIN);
    assert.equal(scene.asked().length, 1, 'every 30 min again');
    for (const push of [1, 2]) {
      news();
      await scene.hub.publish(scene.feedUrl);
      await scene.settle();
      scene.asked();
      assert.equal(scene.standing().misses, push === 1 ? 2 : 0);
      await scene.pass(20 * MIN);
    }
    scene.asked();
    await scene.pass(HOUR);
    assert.deepEqual(scene.asked(), [], 'each 6 h');
  });

  it('that push what a poll has found within 10 min have missed nothing', async () => {
    await scene.subscribed();
    scene.feed = rss(scene.items(['/a', 'other']), scene.hubLink());
    await scene.pass(6 * HOUR);
    await scene.pass(9 * MIN);
    await scene.hub.publish(scene.feedUrl);
    await scene.settle();
    await scene.pass(2 * MIN);
    assert.equal(scene.standing().misses, 0);
    // And what they pushed before it.
    await scene.pass(5 * HOUR);
    await scene.hub.publish(scene.feedUrl);
    await scene.settle();
    scene.feed = rss(scene.items(['/a', 'third']), scene.hubLink());
    await scene.pass(51 * MIN);
    await scene.pass(20 * MIN);
    assert.ok(scene.standing().misses <= 1);
  });

  it('that push every minute put no poll off: it comes at its time', async () => {
    await scene.subscribed();
    let polls = scene.standing().polledMs;
    const gaps: number[] = [];
    for (let minute = 0; minute < 6.5 * 60; minute++) {
      if (minute % 20 === 0) await scene.hub.publish(scene.feedUrl);
      else {
        // The same as a push does, without its HTTP.
        scene.db.write(() => {
          const [feed] = scene.db.feeds.of(7);
          assert.ok(feed);
          scene.polling.prompt(feed);
        });
      }
      await scene.pass(MIN);
      const { polledMs } = scene.standing();
      if (polledMs !== polls) gaps.push(polledMs - polls);
      polls = polledMs;
    }
    const [gap = 0] = gaps;
    assert.equal(gaps.length, 1);
    assert.ok(gap >= 6 * HOUR && gap <= 6 * HOUR + 2 * MIN, String(gap));
    assert.ok(scene.asked().length <= 6.5 * 60 + 10);
  });

  it('replayed or forged without end cost one conditional request in 60 s', async () => {
    await scene.subscribed();
    for (let i = 0; i < 20; i++) await scene.hub.publish(scene.feedUrl, { body: 'same' });
    await scene.settle();
    assert.equal(scene.asked().length, 1);
    await scene.pass(59_000);
    assert.equal(scene.asked().length, 0);
    await scene.pass(1000);
    assert.equal(scene.asked().length, 1, 'what came meanwhile is not lost');
    await scene.pass(10 * MIN);
    assert.equal(scene.asked().length, 0);
  });

  it('that verify have the feed asked 60 s later, and a ping before that at once', async () => {
    scene.feed = rss(scene.items(['/a', 'one']), scene.hubLink());
    scene.add();
    await scene.pass();
    assert.equal(scene.asked().length, 1);
    await scene.pass(59_000);
    assert.equal(scene.asked().length, 0);
    await scene.pass(1000);
    assert.equal(scene.asked().length, 1);
    scene.book.remove(7, scene.feedUrl, 'operator');
    scene.add();
    await scene.pass();
    await scene.pass(10_000);
    scene.asked();
    const body = new URLSearchParams({ 'hub.mode': 'publish', 'hub.url': scene.feedUrl });
    assert.equal((await fetch(`${scene.base}ping`, { method: 'POST', body })).status, 204);
    await scene.settle();
    assert.equal(scene.asked().length, 1);
    await scene.pass(50_000);
    assert.equal(scene.asked().length, 0, 'it has been asked since');
  });

  it('push in vain 1 MB and more: nothing of it is kept, and nothing happens', async () => {
    await scene.subscribed();
    const [subscription] = scene.hub.subscriptions.values();
    assert.ok(subscription);
    assert.equal((await scene.hub.deliver(subscription, { body: Buffer.alloc(1024 * 1024) })).status, 202);
    assert.equal(
      (await scene.hub.deliver(subscription, { body: Buffer.alloc(1024 * 1024 + 1) })).status,
      413,
    );
    await scene.settle();
    assert.equal(scene.asked().length, 1);
  });

  it('a push that was answered is not lost by a kill before the feed is asked', async () => {
    await scene.subscribed();
    scene.polling.stir = () => undefined;
    await scene.hub.publish(scene.feedUrl);
    scene.reopen();
    await scene.pass();
    assert.equal(scene.asked().length, 1);
  });
});
