/** What a provider changes by its pages: directories, terms, password, address, leaving. */
import assert from 'node:assert/strict';
import { after, afterEach, beforeEach, test } from 'node:test';
import { url } from '../qm/support.js';
import { ground } from '../web/support.js';
import { MeScene, PASSWORD, PID, ROOT } from './me-scene.js';

const on = ground({ after });
let scene: MeScene;
beforeEach(async () => (scene = await MeScene.start(on)));
afterEach(() => scene.close());

const column = (name: string) => scene.accounts.value(name, PID);
const alertOf = (html: string) =>
  /role="alert">([^]*?)<\/div>/
    .exec(html)?.[1]
    ?.replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();

test('every page has its place in the navigation, one heading, and no error', async () => {
  for (const path of [
    '',
    '/errors',
    '/receipts',
    '/roots',
    '/feeds',
    '/terms',
    '/mail',
    '/password',
    '/leave',
  ]) {
    const { status, html } = await scene.get(`/me${path}`);
    assert.equal(status, 200);
    assert.equal(html.split('<h1').length, 2, path);
    assert.match(html, new RegExp(`href="/base/me${path}"\\s+aria-current="page"`));
  }
});

test('another directory is proven with a file of its own, and taken off with the password and the number of pages', async () => {
  const wrong = await scene.post('/me/roots', { url: 'http://www.example.org/docs' });
  assert.equal(wrong.status, 400);
  assert.match(wrong.html, /<a href="#url">[^]*value="http:\/\/www\.example\.org\/docs"/);
  assert.match((await scene.post('/me/roots', { url: ROOT })).html, /This is a root already/);
  const begun = await scene.post('/me/roots', { url: scene.accounts.rs.site.urlOf('/news/') });
  assert.equal(begun.status, 303);
  const pair = await scene.follow(begun);
  assert.doesNotMatch(pair.html, /<dt>Password<\/dt>/);
  const [, secret = '', name = ''] =
    /printf '%s\\n' '([\w-]{27})' > (lcc-\w+\.txt)/.exec(
      pair.html.replaceAll('&#39;', "'").replaceAll('&gt;', '>'),
    ) ?? [];
  scene.accounts.rs.site.pages.set(`/news/${name}`, secret);
  const newsRow = async () => {
    const { html } = await scene.get('/me/roots');
    return /<td class="address mono">[^<]*\/news\/<\/td>\s*<td class="number"[^>]*>([^<]*)/
      .exec(html)?.[1]
      ?.trim();
  };
  assert.equal(await newsRow(), 'not proven yet');
  scene.accounts.rs.options.mode = 'approve';
  assert.equal((await scene.pages.ask(`${begun.location}/check`, {})).status, 303);
  assert.equal(await newsRow(), 'is proven, and waits for approval');
  const [more] = scene.accounts.rs.db.registrations.moreRootsOf(PID);
  scene.accounts.rs.transitions.approve(more?.id ?? 0, {});
  assert.equal(await newsRow(), 'is being set up');
  scene.accounts.deliver();
  assert.equal(await newsRow(), '');
  assert.match((await scene.follow(begun)).html, /The directory is yours/);
  assert.equal(scene.accounts.roots(PID).length, 3);

  await scene.qm.send(PID, [url(`${ROOT}a`)]);
  scene.qm.fetch(PID, `${ROOT}a`);
  const page = `/me/roots/remove?root=${encodeURIComponent(ROOT)}`;
  const remove = (fields: Record<string, string>) =>
    scene.post('/me/roots/remove', { root: ROOT, ...fields }, page);
  const miscounted = await remove({ password: PASSWORD, urls: '7' });
  assert.equal(miscounted.status, 409);
  assert.match(miscounted.html, /<a href="#urls">[^]*name="urls"[^>]*value="7"/);
  assert.equal((await remove({ password: 'wrong', urls: '1' })).status, 401);
  assert.equal(scene.accounts.roots(PID).length, 3);
  const gone = await remove({ password: PASSWORD, urls: '1' });
  assert.equal(gone.status, 303);
  assert.match((await scene.follow(gone)).html, /The directory is taken off/);
  assert.ok(!scene.accounts.roots(PID).includes(ROOT));
  assert.equal((await scene.get(page)).status, 404);
});

test('terms are changed, and shown in the zone of the provider', async () => {
  const wrong = await scene.post('/me/terms', { bandwidth: 'much', hours: '0-5', zone: '' });
  assert.equal(wrong.status, 400);
  assert.match(
    wrong.html,
    /<a href="#bandwidth">[^]*id="bandwidth"[^]*?value="much"[^]*id="hours"[^]*?value="0-5"/,
  );
  const fields = { bandwidth: '100KB', hours: '0-7,22-23', zone: 'Asia/Kolkata' };
  const changed = await scene.post('/me/terms', fields);
  assert.equal(changed.location, '/base/me/terms?is=done');
  const { html } = await scene.follow(changed);
  assert.match(
    html,
    /Your terms are changed[^]*100 KB\/s[^]*0-7,22-23, Asia\/Kolkata[^]*<svg\s+class="hours"/,
  );
  assert.match(html, /value="100KB\/s"[^]*value="0-7,22-23"[^]*value="Asia\/Kolkata"/);
  assert.equal(column('bandwidth'), 102_400);
  assert.match(String(column('timeofday')), /^[01]*1[01]*$/);
  scene.accounts.isThere = false;
  assert.equal((await scene.get('/me/terms')).status, 503);
  scene.accounts.isThere = true;
  await scene.post('/me/terms', { bandwidth: '', hours: '', zone: '' });
  assert.equal(column('timeofday'), '');
});

test('another password is shown once, the old one is void, and this browser alone stays logged in', async () => {
  const other = scene.cookie;
  await scene.login();
  assert.equal((await scene.post('/me/password', { password: 'wrong' })).status, 401);
  const { status, location, cookie } = await scene.post('/me/password', { password: PASSWORD });
  assert.deepEqual([status, location], [303, '/base/me/password']);
  assert.notEqual(cookie, '');
  const shown = await scene.get('/me/password');
  const [, password = ''] = /<dt>Password<\/dt>\s*<dd class="mono">([\w-]{27})<\/dd>/.exec(shown.html) ?? [];
  assert.ok(scene.accounts.isPassword(PID, password));
  assert.ok(!(await scene.get('/me/password')).html.includes(password));
  assert.equal((await scene.get('/me')).status, 200);
  scene.cookie = other;
  assert.equal((await scene.get('/me')).status, 303);
  assert.equal((await scene.login()).status, 401);
  assert.equal((await scene.login(password)).status, 303);
});

test('one that leaves is asked for the password and the number of pages, and may stay after all', async () => {
  await scene.qm.send(PID, [url(`${ROOT}a`)]);
  scene.qm.fetch(PID, `${ROOT}a`);
  for (const [fields, status] of [
    [{ password: PASSWORD, urls: '' }, 409],
    [{ password: 'wrong', urls: '1' }, 401],
  ] as const)
    assert.equal((await scene.post('/me/leave', fields)).status, status);
  assert.equal(column('enabled'), 1);
  const left = await scene.post('/me/leave', { password: PASSWORD, urls: '1' });
  assert.equal(left.status, 303);
  assert.equal(column('enabled'), 0);
  assert.match((await scene.follow(left)).html, /You are leaving[^]*Stay after all/);
  assert.match((await scene.get('/me')).html, /What is kept of your site is removed/);
  // A login is possible meanwhile.
  assert.equal((await scene.login()).status, 303);
  const stays = { action: 'stay', password: PASSWORD };
  assert.equal((await scene.post('/me/leave', { ...stays, password: 'wrong' })).status, 401);
  const stayed = await scene.post('/me/leave', stays);
  assert.equal(stayed.location, '/base/me?is=done');
  assert.equal(column('enabled'), 1);
  assert.match((await scene.follow(stayed)).html, /You stay/);
});

test('an address is given by /me/mail where the cache sends mail', async () => {
  assert.match((await scene.get('/me/mail')).html, /No mail is sent/);
});

test('script in a field is text, a line end is refused, and a form of another login changes nothing', async () => {
  const script = `"><script>alert(1)</script><img src=x onerror='alert(1)'>`;
  for (const [path, name] of [
    ['/me/roots', 'url'],
    ['/me/terms', 'bandwidth'],
    ['/me/terms', 'hours'],
    ['/me/terms', 'zone'],
    ['/me/leave', 'urls'],
  ] as const) {
    const { html, status } = await scene.post(path, { [name]: script, password: PASSWORD });
    assert.ok(
      status >= 400 && html.split('<script').length === 2 && !html.includes('<img'),
      `${path} ${name}`,
    );
    assert.equal((await scene.post(path, { [name]: 'a\r\nb' })).status, 400, `${path} ${name}`);
  }
  const queries = ['errors?prefix=', 'errors?code=', 'receipts?urls=', 'roots/remove?root=', 'terms?is='];
  for (const query of queries) {
    const { html } = await scene.get(`/me/${query}${encodeURIComponent(script)}`);
    assert.ok(html.split('<script').length === 2 && !html.includes('<img'), query);
  }
  const forged = await scene.pages.ask(
    '/base/me/leave',
    { password: PASSWORD, urls: '0' },
    { cookie: scene.cookie },
  );
  assert.equal(forged.status, 403);
  assert.match(alertOf(forged.html) ?? '', /This form is of an earlier login/);
  assert.equal(column('enabled'), 1);
});

test('feeds are added below a directory and removed; how each stands is shown', async () => {
  const feed = `${ROOT}feed`;
  const outside = await scene.post('/me/feeds', { url: 'http://other.example.org/feed', every: '30min' });
  assert.equal(outside.status, 400);
  assert.match(alertOf(outside.html) ?? '', /outside of the directories/);
  const ports = scene.accounts.rs.options.site.ports;
  assert.match(
    (await scene.post('/me/feeds', { url: feed, every: '30min' })).html,
    /port 80 is not permitted/i,
  );
  const there = scene.accounts.rs.site.urlOf('/docs/feed');
  assert.deepEqual(ports, [new URL(there).port]);
  const bad = await scene.post('/me/feeds', { url: there, every: 'often' });
  assert.match(bad.html, /<a href="#every">[^]*value="often"/);
  assert.equal((await scene.post('/me/feeds', { url: there, every: '10min' })).status, 303);
  const { db } = scene.accounts.rs;
  db.write(() => {
    const [row] = db.feeds.of(PID);
    assert.ok(row);
    Object.assign(row.standing, {
      trouble: 'it answers with status 404',
      state: 'active',
      misses: 2,
      items: 12,
      left: 3,
    });
    db.feeds.put(row, 0);
  });
  const { html } = await scene.get('/me/feeds');
  for (const words of ['every 10 min', 'it answers with status 404', '3 left out', 'pushes, but misses news'])
    assert.match(html.replace(/\s+/g, ' '), new RegExp(words));
  assert.equal((await scene.post('/me/feeds', { url: there, action: 'remove' })).status, 303);
  assert.match((await scene.get('/me/feeds')).html, /No feed is listed/);
});
