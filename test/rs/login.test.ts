/** Logins, and what forms of a login are worth. The UNS is another process: here a function stands for it (commands/lccd-rs-login has the real one). */
import assert from 'node:assert/strict';
import { after, afterEach, beforeEach, test } from 'node:test';
import type { ProviderViewOptions } from '../../src/rs/me.js';
import { notTogether } from '../../src/rs/uns-door.js';
import { ground } from '../web/support.js';
import { formTokenIn, PagesScene, type Page } from './pages-support.js';
import { providerRow, RsScene } from './support.js';

const on = ground({ after });
const PASSWORD = 'right-password';
let scene: RsScene;
let pages: PagesScene;
let provider = providerRow(100_000);
let isAway = false;
const view: ProviderViewOptions = {
  door: {
    look: () => Promise.reject(new Error('is not asked')),
    isRight: (pid, password) =>
      pid === '100000' && password === PASSWORD
        ? Promise.resolve({ enabled: provider.enabled })
        : Promise.reject(notTogether()),
  },
  ask: () => Promise.resolve(isAway ? undefined : { provider }),
};

async function start(...args: Parameters<typeof RsScene.start>): Promise<void> {
  scene = await RsScene.start(...args);
  pages = await PagesScene.start(scene, on, view);
}
beforeEach(async () => {
  provider = providerRow(100_000);
  isAway = false;
  await start();
});
afterEach(async () => {
  await pages.server.close();
  scene.close();
});

const login = (more: Record<string, string> = {}, headers: Record<string, string> = {}): Promise<Page> =>
  pages.ask('/base/login', { number: '100000', password: PASSWORD, next: '', ...more }, headers);
const get = (path: string, cookie: string) => pages.ask(path, undefined, { cookie });

test('a login leads to the page that was asked for, and a logout to none', async () => {
  const sent = await pages.ask('/base/me');
  assert.deepEqual([sent.status, sent.location], [303, '/base/login']);
  assert.equal((await pages.ask('/base/me/errors')).location, '/base/login?next=%2Fme%2Ferrors');
  assert.match((await pages.ask('/base/login?next=%2Fme%2Ferrors')).html, /name="next" value="\/me\/errors"/);
  const made = await login({ next: '/me/errors' });
  assert.deepEqual([made.status, made.location], [303, '/base/me/errors']);
  assert.match(String(made.headers['set-cookie']), /^lcc=[\w-]{43}; Path=\/base\/; HttpOnly; SameSite=Lax$/);
  for (const next of ['https://evil.example/', '//evil.example', '/me/../login', '/op'])
    assert.equal((await login({ next })).location, '/base/me', next);
  const me = await get('/base/me', made.cookie);
  assert.equal(me.status, 200);
  assert.equal((await get('/base/login', made.cookie)).location, '/base/me');
  const out = await pages.ask('/base/logout', { form_token: formTokenIn(me) }, { cookie: made.cookie });
  assert.deepEqual([out.status, out.location], [303, '/base/']);
  assert.match(String(out.headers['set-cookie']), /^lcc=; Max-Age=0;/);
  assert.equal((await get('/base/me', made.cookie)).status, 303);
});

test('under https the cookie is of this host only, and sent over https only', async () => {
  await pages.server.close();
  scene.close();
  await start({ 'rs.url': 'https://lcc.example.org/base/' });
  const made = await login();
  assert.match(
    String(made.headers['set-cookie']),
    /^__Host-lcc=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
  );
  assert.equal((await get('/base/me', made.cookie)).status, 200);
  assert.equal((await get('/base/me', made.cookie.replace('__Host-', ''))).status, 303);
  assert.equal(made.headers['strict-transport-security'], 'max-age=31536000');
});

test('unknown, wrong and disabled are answered with the same page, which keeps the number and not the password', async () => {
  const wrong = await login({ password: 'wrong' });
  assert.equal(wrong.status, 401);
  assert.match(wrong.html, /role="alert"[^]*Number and password do not belong together[^]*value="100000"/);
  assert.ok(!wrong.html.includes('wrong"'));
  assert.equal(wrong.cookie, '');
  const unknown = await login({ number: '100001' });
  assert.deepEqual([unknown.status, unknown.html.replace('100001', '100000')], [401, wrong.html]);
  const odd = await login({ number: '0x', password: '"><b>' });
  assert.deepEqual([odd.status, odd.html.replace('0x', '100000')], [401, wrong.html]);
  provider.enabled = false;
  const disabled = await login();
  assert.deepEqual([disabled.status, disabled.html], [401, wrong.html]);
  assert.equal((await login({ number: '1\r\nSet-Cookie: a=b' })).status, 400);
});

test('after 20 wrong logins the network waits', async () => {
  for (let i = 0; i < 20; i++) assert.equal((await login({ password: 'wrong' })).status, 401);
  const { status, headers, html } = await login();
  assert.equal(status, 429);
  assert.ok(Number(headers['retry-after']) > 3000);
  assert.match(
    html,
    /Too many wrong logins from your network in an hour: the limit is 20[^]*try again in (?:1 h|59 min)/i,
  );
});

test('a session that somebody else has put into the browser is worth nothing after the login', async () => {
  const planted = await login();
  const made = await login({}, { cookie: planted.cookie });
  assert.notEqual(made.cookie, planted.cookie);
  assert.equal((await get('/base/me', planted.cookie)).status, 303);
  assert.equal((await get('/base/me', made.cookie)).status, 200);
  // One that was never given is not taken over.
  const own = await login({}, { cookie: `lcc=${'A'.repeat(43)}` });
  assert.notEqual(own.cookie, `lcc=${'A'.repeat(43)}`);
});

test('a form needs the token of its session, and is sent by a page of ours', async () => {
  const one = await login();
  const old = formTokenIn(await get('/base/me', one.cookie));
  const two = await login({}, { cookie: one.cookie });
  const { cookie } = two;
  const token = formTokenIn(await get('/base/me', cookie));
  const logout = (form: Record<string, string>, headers: Record<string, string> = {}) =>
    pages.ask('/base/logout', form, { cookie, ...headers });
  for (const form_token of ['', 'x', old]) {
    const { status, html } = await logout({ form_token });
    assert.equal(status, 403);
    assert.match(html, /This form is of an earlier login/);
  }
  for (const headers of [
    { origin: 'http://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ] as Record<string, string>[])
    assert.equal((await logout({ form_token: token }, headers)).status, 403);
  assert.equal((await get('/base/me', cookie)).status, 200);
  assert.equal((await logout({ form_token: token }, { origin: 'http://lcc.example.org' })).status, 303);
  assert.equal((await get('/base/me', cookie)).status, 303);
});

test('sessions end with the password, whoever changed it, and with the provider', async () => {
  const { cookie } = await login();
  isAway = true;
  assert.equal((await get('/base/me', cookie)).status, 503);
  isAway = false;
  assert.equal((await get('/base/me', cookie)).status, 200);
  provider.generation++;
  const sent = await get('/base/me', cookie);
  assert.deepEqual([sent.status, sent.location], [303, '/base/login']);
  provider.generation--;
  assert.equal((await get('/base/me', cookie)).status, 303, 'it does not come back');
  const again = await login();
  provider.enabled = false;
  assert.equal((await get('/base/me', again.cookie)).status, 303);
  // One that is leaving may stay after all.
  provider.leaveat = 2_000_000_000;
  const leaving = await login();
  assert.match((await get('/base/me/leave', leaving.cookie)).html, /Stay after all/);
});
