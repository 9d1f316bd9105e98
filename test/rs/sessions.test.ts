/** Sessions and their end, and how often a network may be wrong. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, test } from 'node:test';
import type { Context } from 'hono';
import { LoginGuard } from '../../src/rs/limits.js';
import { RsRequestRefused } from '../../src/rs/refusal.js';
import { SessionCookie } from '../../src/rs/pages/session-gate.js';
import { WebSessions } from '../../src/rs/sessions.js';
import { ManualClock } from '../support/manual-clock.js';
import { RsScene } from './support.js';

const MINUTE_MS = 60_000;
const LOGIN = { kind: 'provider', account: '100000', mark: '1', network: '192.0.2.0/24' } as const;
let scene: RsScene;
let sessions: WebSessions;
beforeEach(async () => {
  scene = await RsScene.start();
  sessions = new WebSessions(scene.db, scene.clock.nowMs, scene.options.sessions);
});
afterEach(() => scene.close());

test('a token is 256 random bits, of which rs.db has the hash; it is of its kind only', () => {
  const token = sessions.begin(LOGIN);
  assert.equal(Buffer.from(token, 'base64url').length, 32);
  const found = sessions.find('provider', token);
  assert.deepEqual([found?.account, found?.mark], ['100000', '1']);
  assert.equal(sessions.find('operator', token), undefined);
  for (const other of [undefined, '', token.slice(1), `${token.slice(1)}A`])
    assert.equal(sessions.find('provider', other), undefined);
  for (const file of [scene.db.path, `${scene.db.path}-wal`]) {
    const bytes = readFileSync(file);
    assert.ok(!bytes.includes(token) && !bytes.includes(found?.formToken ?? token), file);
  }
});

test('it is over after 30 minutes without a request, and after 12 hours in any case', () => {
  const idle = sessions.begin(LOGIN);
  scene.clock.byMs += 29 * MINUTE_MS;
  assert.ok(sessions.find('provider', idle));
  scene.clock.byMs += 29 * MINUTE_MS;
  assert.ok(sessions.find('provider', idle), 'it was asked for meanwhile');
  scene.clock.byMs += 30 * MINUTE_MS;
  assert.equal(sessions.find('provider', idle), undefined);
  const busy = sessions.begin(LOGIN);
  for (let minutes = 20; minutes < 12 * 60; minutes += 20) {
    scene.clock.byMs += 20 * MINUTE_MS;
    assert.ok(sessions.find('provider', busy), `${minutes} min`);
  }
  scene.clock.byMs += 20 * MINUTE_MS;
  assert.equal(sessions.find('provider', busy), undefined);
  sessions.tidy();
  for (const token of [idle, busy]) assert.equal(scene.db.sessions.find(WebSessions.idOf(token)), undefined);
});

test('looks at pages within a minute write nothing', () => {
  const token = sessions.begin(LOGIN);
  const seen = () => scene.db.sessions.find(WebSessions.idOf(token))?.seenMs;
  const first = seen();
  scene.clock.byMs += 50_000;
  sessions.find('provider', token);
  assert.equal(seen(), first);
  scene.clock.byMs += 20_000;
  sessions.find('provider', token);
  assert.notEqual(seen(), first);
});

test('an account has 10 at most; a login replaces the one of its browser; all end together', () => {
  const tokens = Array.from({ length: 11 }, () => {
    scene.clock.byMs += 1000;
    return sessions.begin(LOGIN);
  });
  const alive = () => tokens.map(token => sessions.find('provider', token) !== undefined);
  assert.deepEqual(alive(), [false, ...Array<boolean>(10).fill(true)]);
  const other = sessions.begin({ ...LOGIN, account: '100001' });
  const [last = ''] = tokens.slice(-1);
  const next = sessions.begin({ ...LOGIN, mark: '2' }, last);
  assert.equal(sessions.find('provider', last), undefined);
  assert.equal(sessions.find('provider', next)?.mark, '2');
  sessions.end(next);
  assert.equal(sessions.find('provider', next), undefined);
  sessions.endOf('provider', LOGIN.account);
  assert.deepEqual(alive(), Array<boolean>(11).fill(false));
  assert.ok(sessions.find('provider', other), 'of another account');
  const events = scene.db.audit.page(100).map(({ event }) => event);
  assert.deepEqual(events, ['sessions ended', 'logout', 'login', 'login'], 'a row an hour for each account');
});

test('one that goes on is read once, and again when another program has written; 1000 are remembered', t => {
  const reads = t.mock.method(scene.db.sessions, 'find').mock;
  const [token, other] = [sessions.begin(LOGIN), sessions.begin({ ...LOGIN, account: 'another' })];
  const found = [0, 1, 2].map(() => sessions.find('provider', token)?.formToken);
  assert.ok(found[0] !== undefined && found.every(each => each === found[0]));
  assert.equal(reads.callCount(), 1);
  scene.db.write(() => scene.db.sessions.end(WebSessions.idOf(token)));
  sessions.forget();
  assert.equal(sessions.find('provider', token), undefined);
  assert.ok(sessions.find('provider', other));
  const before = reads.callCount();
  for (let i = 0; i < 1000; i++) sessions.find('provider', sessions.begin({ ...LOGIN, account: String(i) }));
  assert.equal(reads.callCount(), before + 1000);
  assert.ok(sessions.find('provider', other));
  assert.equal(reads.callCount(), before + 1001, 'the oldest gave way');
});

test('a form is one of its session only', () => {
  const [one, two] = [LOGIN, LOGIN].map(login => sessions.find('provider', sessions.begin(login)));
  assert.ok(one && two && one.formToken !== two.formToken);
  assert.ok(sessions.sentBy(one, one.formToken));
  for (const sent of ['', two.formToken, `${one.formToken} `]) assert.ok(!sessions.sentBy(one, sent));
});

test('after 20 wrong logins in an hour a network waits, right ones too, and no other network', async () => {
  const clock = new ManualClock();
  const guard = new LoginGuard(clock, { most: 20, text: '20' });
  const wrong = () => Promise.reject(new RsRequestRefused(401, 'login', 'wrong', 'check'));
  const right = () => Promise.resolve('in');
  const away = () => Promise.reject(new RsRequestRefused(503, 'away', 'away', 'later'));
  const of = (status: number) => (error: unknown) =>
    error instanceof RsRequestRefused && error.status === status;
  for (let i = 0; i < 19; i++) await assert.rejects(guard.attempt('a', wrong), of(401));
  for (let i = 0; i < 5; i++) await assert.rejects(guard.attempt('a', away), of(503));
  assert.equal(await guard.attempt('a', right), 'in', 'neither these nor right ones count');
  // At the same time they are not more than one after the other.
  const both = await Promise.allSettled([guard.attempt('a', wrong), guard.attempt('a', wrong)]);
  assert.deepEqual(
    both.map(each => each.status === 'rejected' && (each.reason as RsRequestRefused).status),
    [401, 429],
  );
  await assert.rejects(guard.attempt('a', right), { status: 429, retryAfterS: 3600 });
  assert.equal(await guard.attempt('b', right), 'in');
  clock.advance(3_600_000);
  assert.equal(await guard.attempt('a', right), 'in');
});

test('the token is found among other cookies, and only under the name of its kind', () => {
  const token = 'a'.repeat(43);
  const read = (kind: 'provider' | 'operator', url: string, cookie: string | undefined) => {
    const context = { req: { header: () => cookie } } as unknown as Context;
    return new SessionCookie(kind, url).read(context);
  };
  const plain = (cookie?: string) => read('provider', 'http://lcc.example.org/', cookie);
  for (const cookie of [
    `lcc=${token}`,
    `a=b; lcc=${token}; c=d`,
    `a=b;lcc=${token};c`,
    `xlcc=b; lcc-operator=${'b'.repeat(43)}; lcc=${token}`,
    `lcc=${token}; lcc=${'b'.repeat(43)}`,
    `lcc="; lcc=${token}`,
  ])
    assert.equal(plain(cookie), token, cookie);
  for (const cookie of [undefined, '', `xlcc=${token}`, `lcc-operator=${token}`, `a=lcc=${token}`, 'lcc=é'])
    assert.equal(plain(cookie), undefined, cookie);
  assert.equal(read('operator', 'http://[::1]:9081/op', `lcc=b; lcc-operator=${token}`), token);
  const secure = 'https://lcc.example.org/';
  assert.equal(read('provider', secure, `lcc=b; __Host-lcc=${token}`), token);
  assert.equal(read('provider', secure, `lcc=${token}`), undefined, 'a neighbour could have set it');
});
