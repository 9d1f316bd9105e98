/** Limits of pairs, and what strangers cannot do with them to others. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { RsRequestRefused } from '../../src/rs/refusal.js';
import type { IssuedPair } from '../../src/rs/registrar.js';
import { RsScene } from './support.js';

let scene: RsScene;
afterEach(() => {
  assert.deepEqual(scene.failures, []);
  scene.close();
});
const start = async (...args: Parameters<typeof RsScene.start>) => (scene = await RsScene.start(...args));

/** The word that something is refused with. */
function wordOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof RsRequestRefused) return `${error.status} ${error.code}`;
    throw error;
  }
  return 'done';
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

test('who tries it on machines of the operator is not counted by network; the other limits hold', async () => {
  await start({ 'rs.pairs_per_network': '1' }, ({ limits }) => (limits.perHost.most = 4));
  const issue = (network: string) => wordOf(() => scene.registrar.issue(scene.site.urlOf('/'), {}, network));
  assert.deepEqual(
    ['127.0.0.0/24', '127.0.0.0/24', '192.168.7.0/24', 'fd00::/48', '127.0.0.0/24'].map(issue),
    ['done', 'done', 'done', 'done', '429 too-many'],
  );
  scene.clock.byMs += 8 * DAY_MS;
  scene.transitions.tidy(DAY_MS, 365 * DAY_MS);
  assert.deepEqual(['2001:db8::/48', '2001:db8::/48', '8.8.8.0/24', '8.8.8.0/24'].map(issue), [
    'done',
    '429 too-many',
    'done',
    '429 too-many',
  ]);
});

test('pairs are limited: for a network in a day, for a host, in all', async () => {
  await start({ 'rs.pairs_per_network': '3' }, ({ limits }) => {
    limits.openPairs = { most: 4, text: '4' };
    limits.perHost = { most: 3, text: '3' };
  });
  const issue = (network: string, host = '127.0.0.1') =>
    wordOf(() => scene.registrar.issue(`http://${host}:${new URL(scene.site.url).port}/`, {}, network));
  assert.deepEqual(
    [issue('a'), issue('a'), issue('a'), issue('a')],
    ['done', 'done', 'done', '429 too-many'],
  );
  // It is said when there is room again, and which setting that is.
  scene.clock.byMs += 3 * HOUR_MS;
  assert.throws(() => scene.registrar.issue(scene.site.urlOf('/'), {}, 'a'), {
    status: 429,
    message:
      'too many pairs for your network in a day: the limit is 3 (rs.pairs_per_network); try again in 21 h',
    retryAfterS: 21 * 3600,
  });
  scene.clock.byMs += DAY_MS;
  assert.throws(() => scene.registrar.issue(scene.site.urlOf('/'), {}, 'a'), {
    message: 'too many open pairs for this host: the limit is 3; try again in 1 d',
    retryAfterS: 86_400,
  });
  assert.deepEqual([issue('c', '127.0.0.2'), issue('c', '127.0.0.3')], ['done', '429 too-many']);
  assert.throws(() => scene.registrar.issue(`http://127.0.0.3:${new URL(scene.site.url).port}/`, {}, 'e'), {
    message: /^too many open pairs: the limit is 4; try again in /,
  });
  scene.clock.byMs += 8 * DAY_MS;
  scene.transitions.tidy(DAY_MS, 365 * DAY_MS);
  assert.equal(issue('a'), 'done');
});

test('nobody keeps the owner of a host from registering it: the network with the most pairs for it gives one up', async () => {
  await start({}, ({ limits }) => (limits.perHost.most = 6));
  const from = (network: string) => scene.issue('/', network);
  const [first, ...others] = ['a', 'a', 'a', 'b', 'b'].map(from);
  assert.ok(first !== undefined);
  // One that was checked goes after those that nobody has checked.
  await scene.registrar.check(first.capability);
  const own = from('owner');
  const isOver = ({ capability }: IssuedPair) => wordOf(() => scene.registrar.find(capability)) !== 'done';
  const again = from('owner');
  assert.deepEqual([first, ...others, own].map(isOver), [false, true, false, false, false, false]);
  assert.equal(scene.db.audit.page(2).at(-1)?.event, 'gave way');
  // Of three networks with two pairs each none gives way to another of its own.
  assert.equal(
    wordOf(() => from('b')),
    '429 too-many',
  );
  assert.equal(
    wordOf(() => from('c')),
    'done',
  );
  assert.deepEqual([own, again].map(isOver), [false, false]);
  // Nor are those held up who have forgotten a password, and they take no place.
  for (let i = 0; i < 4; i++)
    assert.equal(
      wordOf(() => scene.registrar.issueReset(100_000, scene.site.urlOf('/'), 'd')),
      'done',
    );
  assert.equal(scene.db.registrations.openOf('127.0.0.1'), 6);
});

test('the operator refuses a pair that nobody has proven', async () => {
  await start();
  const pair = scene.issue('/');
  scene.transitions.refuse(pair.registration.id, 'not you');
  assert.equal(scene.registrar.find(pair.capability).state, 'refused');
  assert.equal(scene.db.registrations.openOf('127.0.0.1'), 0);
});

test('an address with an empty part is refused with the one that is meant: robots.txt forbids that one', async () => {
  await start();
  for (const [path, meant] of [
    ['//uploads/joe/', '/uploads/joe/'],
    ['/uploads//joe///', '/uploads/joe/'],
    ['//', '/'],
  ] as const)
    assert.throws(() => scene.registrar.issue(scene.site.urlOf('').replace(/\/$/, '') + path, {}, 'a'), {
      status: 400,
      message: `the address has an empty part between two slashes; write ${scene.site.urlOf('').replace(/\/$/, '')}${meant}`,
    });
});
