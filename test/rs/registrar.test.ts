import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import type { RegistrationState } from '../../src/db/rs/registrations.js';
import { spaceOf } from '../../src/lib/disk-space.js';
import { hashPassword, passwordMatches } from '../../src/lib/password.js';
import { RsRequestRefused } from '../../src/rs/refusal.js';
import { until } from '../support/until.js';
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

test('a pair is proven, waits, is approved and active, once', async () => {
  await start();
  const pair = scene.issue('/docs/');
  assert.deepEqual([pair.registration.state, pair.registration.pid], ['issued', 100_000]);
  scene.place(pair);
  await scene.registrar.check(pair.capability);
  const { state, id, proven } = scene.standing(pair);
  assert.deepEqual([state, proven], ['waiting', [scene.site.urlOf('/docs/')]]);
  assert.equal(scene.db.outbox.count(), 0);
  scene.transitions.approve(id, { filesmax: 5 });
  assert.throws(() => scene.transitions.approve(id, {}), /registration 1 is applying, and does not wait/);
  assert.throws(() => scene.transitions.refuse(id, 'late'), /does not wait/);
  const [first, second, ...more] = scene.db.outbox.waiting(10);
  assert.ok(first?.change.op === 'register' && more.length === 0);
  assert.ok(passwordMatches(pair.password, first.change.password));
  assert.deepEqual(first.change.roots, proven);
  assert.deepEqual(second?.change, { op: 'terms', pid: 100_000, filesmax: 5 });
  for (const _ of [1, 2]) scene.transitions.settle(first, { ok: {} }, 100_000);
  assert.equal(scene.standing(pair).state, 'active');
  assert.deepEqual(
    scene.db.providers.all().map(({ pid }) => pid),
    [100_000],
  );
  assert.equal(scene.db.outbox.count(), 1);
});

test('no secret, password or capability stands in the database or the audit', async () => {
  await start();
  const pair = scene.issue();
  scene.place(pair);
  await scene.registrar.check(pair.capability);
  scene.transitions.approve(scene.standing(pair).id, {});
  const bytes = ['rs.db', 'rs.db-wal']
    .map(file => readFileSync(join(scene.dir, 'rs', file), 'latin1'))
    .join('');
  for (const secret of [pair.secret, pair.password, pair.capability]) assert.ok(!bytes.includes(secret));
  const [operation] = scene.db.outbox.waiting(1);
  assert.ok(operation);
  scene.transitions.settle(operation, { ok: {} }, 1);
  const { secret, password } = scene.standing(pair);
  assert.deepEqual([secret, password], [undefined, undefined], 'what is over has no hashes either');
});

test('in mode open what is proven is applied for at once', async () => {
  await start({ 'rs.mode': 'open' });
  const pair = scene.issue();
  scene.place(pair);
  await scene.registrar.check(pair.capability);
  assert.equal(scene.standing(pair).state, 'applying');
  assert.deepEqual([scene.db.outbox.count(), scene.applied], [1, 1]);
});

test('in mode closed no pair is given out, and it is said who can help', async () => {
  await start({ 'rs.mode': 'closed', 'rs.contact': 'hostmaster@example.org' });
  assert.throws(() => scene.issue(), /this LCC takes no new sites; ask hostmaster@example\.org/);
  assert.equal(
    wordOf(() => scene.issue()),
    '403 closed',
  );
});

test('a number that is taken is replaced by the next one, and what was approved goes with it', async () => {
  await start();
  const pair = scene.issue();
  scene.place(pair);
  await scene.registrar.check(pair.capability);
  scene.transitions.approve(scene.standing(pair).id, { priority: 1 });
  scene.issue('/other/');
  const [first] = scene.db.outbox.waiting(1);
  assert.ok(first);
  scene.transitions.settle(first, { refused: 'taken', text: 'the number is taken' }, 100_000);
  assert.deepEqual([scene.standing(pair).state, scene.standing(pair).pid], ['applying', 100_002]);
  const [again, terms, ...more] = scene.db.outbox.waiting(10);
  assert.deepEqual(
    [again?.change.op, again?.change.pid, terms?.change, more],
    ['register', 100_002, { op: 'terms', pid: 100_002, priority: 1 }, []],
  );
  assert.notEqual(again?.id, first.id);
  assert.ok(again);
  scene.transitions.settle(again, { refused: 'roots', text: 'others have it' }, 100_000);
  const { state, reason } = scene.standing(pair);
  assert.deepEqual([state, reason?.what, scene.db.outbox.count()], ['refused', 'others have it', 0]);
});

test('a check that fails leaves the pair issued, with the reason, until it is proven', async () => {
  await start({ 'rs.check_interval_ms': '0' });
  const pair = scene.issue();
  await scene.registrar.check(pair.capability);
  const { state, reason, tries, endsMs } = scene.standing(pair);
  assert.deepEqual([state, reason?.code, tries], ['issued', 'missing', 1]);
  assert.equal(endsMs, pair.registration.endsMs, 'it has no more time than before');
  scene.place(pair);
  await scene.registrar.check(pair.capability);
  assert.deepEqual([scene.standing(pair).state, scene.standing(pair).reason], ['waiting', undefined]);
  assert.deepEqual(
    scene.db.audit.page(9).map(({ event, detail }) => [event, detail.replace(/:\d+/, '')]),
    [
      ['proven', 'http://127.0.0.1/ (127.0.0.1)'],
      ['check begun', '2'],
      ['check failed', 'missing (127.0.0.1)'],
      ['check begun', '1'],
      ['issued', 'http://127.0.0.1/ from 192.0.2.0/24'],
    ],
  );
});

test('checks asked for at once are one, and what is being checked when the process dies is issued again', async () => {
  await start();
  const pair = scene.issue();
  let asked = 0;
  let answer = () => undefined as void;
  scene.site.answer = (_request, response) => {
    asked++;
    answer = () => void response.writeHead(404).end();
  };
  const checks = [1, 2, 3].map(() => scene.registrar.check(pair.capability));
  assert.equal(scene.standing(pair).state, 'checking');
  assert.equal(
    wordOf(() => scene.registrar.cancel(pair.capability)),
    '409 too-late',
  );
  await until('the site is asked', () => asked > 0);
  // Another process finds it so.
  assert.equal(scene.transitions.putBack(), 1);
  assert.equal(scene.standing(pair).state, 'issued');
  answer();
  await Promise.all(checks);
  assert.equal(asked, 1);
  assert.deepEqual([scene.standing(pair).state, scene.standing(pair).reason], ['issued', undefined]);
});

test('a password that stood in the public file never becomes one, and its applicant is told to begin again', async () => {
  await start({ 'rs.mode': 'open' });
  const pair = scene.issue();
  scene.place({ ...pair, secret: pair.password });
  await scene.registrar.check(pair.capability);
  const { state, reason } = scene.standing(pair);
  assert.deepEqual([state, reason?.code], ['issued', 'password']);
  scene.place(pair);
  scene.clock.byMs += 11_000;
  const check = () => scene.registrar.check(pair.capability);
  assert.throws(check, {
    status: 409,
    message: /^the file holds the password, .* it is void; .* cancel this pair, and begin again/,
  });
  scene.registrar.cancel(pair.capability);
  assert.equal(scene.applied, 0);
});

test('checks of a pair are limited: how soon, how many an hour, how many in all', async () => {
  await start({ 'rs.checks_per_hour': '2' }, ({ limits }) => {
    limits.checks = { most: 3, text: '3' };
  });
  const pair = scene.issue();
  const check = () => scene.registrar.check(pair.capability);
  await check();
  assert.throws(check, { status: 429, message: /10 s \(rs\.check_interval_ms\) between two/ });
  scene.clock.byMs += 11_000;
  await check();
  scene.clock.byMs += 11_000;
  assert.throws(
    check,
    /^RsRequestRefused: too many checks in an hour: the limit is 2 \(rs\.checks_per_hour\); try again in 1 h$/,
  );
  scene.clock.byMs += HOUR_MS;
  await check();
  scene.clock.byMs += HOUR_MS;
  assert.throws(check, { status: 409, message: /checked too often: the limit is 3/ });
  assert.equal(scene.standing(pair).tries, 3);
});

test('checks are limited also over all pairs, and of one host there is one at a time', async () => {
  await start({}, ({ limits }) => (limits.checking = { most: 1, text: '1' }));
  const pairs = [scene.issue(), scene.issue('/other/')];
  const replies: (() => void)[] = [];
  scene.site.answer = (_request, response) => void replies.push(() => void response.writeHead(404).end());
  const [first, second] = pairs;
  assert.ok(first && second);
  const over = scene.registrar.check(first.capability);
  assert.throws(() => scene.registrar.check(second.capability), /another check of this host is under way/);
  const elsewhere = scene.registrar.issue(`http://127.0.0.2:${new URL(scene.site.url).port}/`, {}, 'x');
  assert.throws(
    () => scene.registrar.check(elsewhere.capability),
    /too many checks at a time: the limit is 1; try again in 10 s/,
  );
  await until('the site is asked', () => replies.length > 0);
  replies.forEach(reply => reply());
  await over;
  scene.site.answer = (_request, response) => void response.writeHead(404).end();
  await scene.registrar.check(second.capability);
});

test('without room there are no new pairs, and what there is goes on', async () => {
  await start({ 'rs.mode': 'open' });
  const pair = scene.issue();
  for (const [key, value, says] of [
    [
      'rs.min_free_disk_bytes',
      '10000 GB',
      /^the disk of rs\.db has too little room: .* free of .*, .* needed \(rs\.min/,
    ],
    ['rs.max_db_bytes', '1 MB', /^rs\.db is at its limit, 1\.0 MB \(rs\.max_db_bytes\)$/],
  ] as const) {
    scene.db.close();
    scene.open({
      'rs.mode': 'open',
      [key]: value,
      ...(key === 'rs.min_free_disk_bytes' && { 'rs.min_free_disk_percent': '90' }),
    });
    if (key === 'rs.max_db_bytes') {
      assert.equal(scene.room.shortage, undefined);
      const event = { event: 'x', registration: null, pid: null, by: 'rs', detail: 'x'.repeat(500) } as const;
      scene.db.write(() => {
        for (let i = 0; i < 3000; i++) scene.db.audit.add(event, scene.clock.nowMs());
      });
    } else {
      // Of a disk that is nearly empty 90 % may well be free.
      const { freeBytes, totalBytes } = spaceOf(scene.dir);
      if (freeBytes >= 0.9 * totalBytes) continue;
    }
    assert.match(scene.room.shortage ?? '', says);
    assert.throws(() => scene.issue(), { status: 503, code: 'no-room', retryAfterS: 3600 });
    assert.throws(() => scene.registrar.issueRoot(100_000, scene.site.urlOf('/b/'), 'x'), { status: 503 });
    assert.equal(
      scene.registrar.issueReset(100_000, scene.site.urlOf('/'), 'x').registration.state,
      'issued',
    );
  }
  scene.place(pair);
  await scene.registrar.check(pair.capability);
  assert.equal(scene.standing(pair).state, 'applying');
  // What is freed is room again.
  scene.transitions.tidy(DAY_MS, 0);
  scene.clock.byMs += 1000;
  scene.transitions.tidy(DAY_MS, 0);
  assert.equal(scene.room.shortage, undefined);
});

test('pairs that are over by time say so for a while, and then are unknown; numbers are not given again', async () => {
  await start();
  const pair = scene.issue();
  scene.clock.byMs += 7 * DAY_MS + 1000;
  scene.transitions.tidy(30 * DAY_MS, 365 * DAY_MS);
  assert.equal(
    wordOf(() => scene.standing(pair)),
    '410 expired',
  );
  assert.equal(
    wordOf(() => scene.registrar.check(pair.capability)),
    '410 expired',
  );
  scene.clock.byMs += 31 * DAY_MS;
  scene.transitions.tidy(30 * DAY_MS, 365 * DAY_MS);
  assert.equal(
    wordOf(() => scene.standing(pair)),
    '404 unknown',
  );
  assert.deepEqual(
    scene.db.audit.page(9).map(({ event }) => event),
    ['expired', 'issued'],
  );
  scene.transitions.tidy(30 * DAY_MS, DAY_MS);
  assert.deepEqual(scene.db.audit.page(9), []);
  scene.db.close();
  scene.open();
  assert.equal(scene.issue().registration.pid, 100_001);
});

test('what waits for the operator is over after its time', async () => {
  await start();
  const pair = scene.issue();
  scene.place(pair);
  await scene.registrar.check(pair.capability);
  scene.clock.byMs += 31 * DAY_MS;
  scene.transitions.tidy(30 * DAY_MS, 365 * DAY_MS);
  assert.equal(
    wordOf(() => scene.standing(pair)),
    '410 expired',
  );
});

test('an applicant gives up; what was given up cannot be proven', async () => {
  await start();
  const pair = scene.issue();
  scene.registrar.cancel(pair.capability);
  assert.equal(
    wordOf(() => scene.registrar.cancel(pair.capability)),
    '410 cancelled',
  );
  assert.equal(
    wordOf(() => scene.registrar.check('no-such-pair')),
    '404 unknown',
  );
});

test('every transition that is not drawn is a bug, and says which', async () => {
  await start();
  const { registration } = scene.issue();
  const { registrations } = scene.db;
  const move = (from: RegistrationState, to: RegistrationState) =>
    scene.db.write(() => registrations.move(registration.id, from, to, 1));
  assert.throws(() => move('issued', 'active'), /registration 1: issued does not become active/);
  assert.throws(() => move('active', 'issued'), /active does not become issued/);
  assert.equal(move('waiting', 'applying'), false, 'it is in another state');
});

test('an operation is settled once, whoever comes second', async () => {
  await start({ 'rs.mode': 'open' });
  const pair = scene.issue();
  scene.place(pair);
  await scene.registrar.check(pair.capability);
  const [operation] = scene.db.outbox.waiting(1);
  assert.ok(operation);
  scene.transitions.settle(operation, { ok: {} }, 1);
  scene.transitions.settle(operation, { refused: 'taken', text: 'late' }, 1);
  assert.equal(scene.standing(pair).state, 'active');
  assert.ok(hashPassword('x').startsWith('sha256:'));
});
