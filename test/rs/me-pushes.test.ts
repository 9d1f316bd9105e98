/** Pushes of a provider in its own view: by day and door, what they were worth, what was refused and why. */
import assert from 'node:assert/strict';
import { after, afterEach, beforeEach, test } from 'node:test';
import { failure, ok, url } from '../qm/support.js';
import { ground } from '../web/support.js';
import { MeScene, PID, ROOT } from './me-scene.js';

const on = ground({ after });
let scene: MeScene;
beforeEach(async () => (scene = await MeScene.start(on)));
afterEach(() => scene.close());

/** Text between tags, in one line. */
const textOf = (html: string) => html.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');

test('a provider sees by day and door what was pushed of its pages, what came of it, and what was refused and why', async () => {
  assert.match(
    textOf((await scene.get('/me/pushes')).html),
    /Open: IndexNow, Ping, Feed\. .* Nothing has come yet\./,
  );
  const { db, clock } = scene.accounts.rs;
  const nowMs = clock.nowMs();
  db.write(() => {
    db.push.offer(PID, 'indexnow', [`${ROOT}a`, `${ROOT}b`], nowMs);
    db.push.offer(PID, 'feed', [`${ROOT}c`], nowMs);
    db.push.refuse(PID, 'indexnow', { url: `${ROOT}<script>`, reason: 'the key file is missing' }, nowMs, 3);
    db.push.refuse(undefined, 'ping', { url: 'http://elsewhere.example/', reason: 'nobody' }, nowMs);
  });
  const pushed = (curl: string, origin: 'push' | 'push-feed') =>
    scene.qm.send(PID, [url(curl, { mimetype: '*/*' })], { origin });
  await pushed(`${ROOT}a`, 'push');
  await pushed(`${ROOT}b`, 'push');
  await pushed(`${ROOT}c`, 'push-feed');
  for (const [curl, result] of [
    ['a', ok('a', { mimetype: 'text/html' })],
    ['b', failure(404, 'real')],
    ['c', ok('c', { mimetype: 'text/html' })],
  ] as const) {
    const row = scene.qm.row(PID, curl, '*/*');
    assert.ok(row);
    scene.qm.answer(row, result);
  }
  const { html } = await scene.get('/me/pushes');
  const text = textOf(html);
  assert.match(text, /\d{4}-\d\d-\d\d IndexNow 2 3 2 1 0 0 .*\d{4}-\d\d-\d\d Feed 1 0 1 1 0 0/);
  assert.match(text, /just now IndexNow http:\/\/127\.0\.0\.1\/&lt;script&gt; the key file is missing 3 /);
  assert.doesNotMatch(text, /elsewhere\.example/);
  assert.match(html, /lcc\.example\.org\/base\/indexnow/);
});

test('a provider keeps its last hundred refusals, and nobody else has them', () => {
  const { db, clock } = scene.accounts.rs;
  for (let i = 0; i < 150; i++)
    db.write(() =>
      db.push.refuse(PID, 'indexnow', { url: `u${i}`, reason: `${i} ${'r'.repeat(1000)}` }, clock.nowMs()),
    );
  const kept = db.push.refusals(PID, 1000);
  assert.deepEqual(
    [kept.length, kept[0]?.url, kept.at(-1)?.url, kept[0]?.reason.length],
    [100, 'u149', 'u50', 300],
  );
  assert.deepEqual(db.push.refusals(PID + 1, 10), []);
});
