/** What a provider does over the JSON API. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { apiOf } from '../../src/rs/api.js';
import { url } from '../qm/support.js';
import { AccountScene, PASSWORD } from './account-scene.js';

let scene: AccountScene;
let api: ReturnType<typeof apiOf>;
afterEach(() => scene.close());

async function start(): Promise<void> {
  scene = await AccountScene.start({ 'rs.pairs_per_network': '9' });
  const { rs, account, door } = scene;
  api = apiOf({
    account,
    registrar: rs.registrar,
    options: rs.options,
    feeds: rs.feeds,
    view: { door, ask: question => Promise.resolve(rs.ask(question)) },
    failed: (path, error) => assert.fail(`${path}: ${String(error)}`),
  });
}

/** Where all requests come from, but those that would be too many. */
const ADDRESS = '192.0.2.1';

/** @param login `PID:PASSWORD`; '' = none */
async function ask(login: string, method: string, path: string, body?: object, address = ADDRESS) {
  const headers = {
    ...(login !== '' && { authorization: `Basic ${Buffer.from(login).toString('base64')}` }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
  const answer = await api.request(path, init, {
    incoming: { socket: {}, headers: { 'x-forwarded-for': address } },
  });
  const said = await answer.text();
  return {
    status: answer.status,
    retryAfterS: Number(answer.headers.get('retry-after')),
    body: (said === '' ? {} : JSON.parse(said)) as Record<string, unknown>,
  };
}

test('each of it needs number and password, and says alike that they are wrong', async () => {
  await start();
  const pid = await scene.register('/');
  const asks: [string, string, object?][] = [
    ['GET', '/me'],
    ['GET', '/me/errors'],
    ['GET', '/me/receipts'],
    ['GET', '/me/feeds'],
    ['POST', '/me/feeds', { url: 'http://www.example.org/feed' }],
    ['DELETE', '/me/feeds', { url: 'http://www.example.org/feed' }],
    ['POST', '/me/roots', { url: 'http://www.example.org/' }],
    ['DELETE', '/me/roots', { url: 'http://www.example.org/', urls: 0 }],
    ['POST', '/me/terms', { bandwidth: '1KB' }],
    ['POST', '/me/password', {}],
    ['POST', '/me/leave', { urls: 0 }],
    ['DELETE', '/me/leave'],
  ];
  for (const [i, [method, path, body]] of asks.entries())
    for (const login of ['', `${pid}:wrong`, '4711:first']) {
      const answer = await ask(login, method, path, body, `192.0.${i}.1`);
      assert.deepEqual([answer.status, answer.body['code']], [401, 'login'], `${method} ${path} ${login}`);
    }
  assert.equal(scene.rs.db.outbox.count(), 0);
});

test('after 20 wrong passwords the network waits, whatever is asked with whatever password', async () => {
  await start();
  const pid = await scene.register('/');
  for (let i = 0; i < 30; i++) assert.equal((await ask('', 'GET', '/me')).status, 401, 'no password is none');
  for (let i = 0; i < 5; i++) {
    assert.equal((await ask(`${pid}:wrong`, 'GET', '/me')).status, 401);
    assert.equal((await ask(`${pid + i}:wrong`, 'POST', '/me/terms', {})).status, 401);
    assert.equal((await ask(`${pid}:wrong`, 'POST', '/me/leave', { urls: 0 })).status, 401);
    assert.equal(
      (await ask(`${pid}:${PASSWORD}`, 'GET', '/me')).status,
      200,
      'a right one counts for nothing',
    );
    assert.equal((await ask(`${pid}:wrong`, 'DELETE', '/me/leave')).status, 401);
  }
  for (const [method, path, body] of [
    ['GET', '/me'],
    ['GET', '/me/errors'],
    ['POST', '/me/leave', { urls: 0 }],
    ['DELETE', '/me/leave'],
    ['DELETE', '/me/roots', { urls: 0, url: 'http://a/' }],
  ] as const) {
    const late = await ask(`${pid}:${PASSWORD}`, method, path, body);
    assert.deepEqual([late.status, late.body['code']], [429, 'too-many'], path);
    assert.match(
      String(late.body['what']),
      /^too many wrong logins from your network in an hour: the limit is 20$/,
    );
    assert.ok(late.retryAfterS > 3000);
    assert.match(String(late.body['do']), /^try again in (?:1 h|59 min)$/);
  }
});

test('errors by code, page by page, by the beginning of the url', async () => {
  await start();
  const pid = await scene.register('/');
  const login = `${pid}:${PASSWORD}`;
  const names = Array.from({ length: 5 }, (_, i) => scene.rs.site.urlOf(`/${i % 2 === 0 ? 'a' : 'b'}/${i}`));
  await scene.qm.send(
    pid,
    names.map(name => url(name)),
  );
  for (const name of names) scene.qm.missing(pid, name);
  const { body: first } = await ask(login, 'GET', '/me/errors?limit=3');
  assert.deepEqual(first['codes'], [{ code: 404, errors: 5 }]);
  const curls = (body: Record<string, unknown>) =>
    (body['errors'] as { curl: string }[]).map(({ curl }) => curl);
  const { body: second } = await ask(login, 'GET', `/me/errors?limit=3&after=${String(first['next'])}`);
  assert.deepEqual([...curls(first), ...curls(second), second['next']], [...names, null]);
  const prefix = encodeURIComponent(scene.rs.site.urlOf('/b/'));
  assert.deepEqual(curls((await ask(login, 'GET', `/me/errors?prefix=${prefix}`)).body), [
    names[1],
    names[3],
  ]);
  assert.equal((await ask(login, 'GET', '/me/errors?after=x')).status, 400);
  scene.isThere = false;
  assert.equal((await ask(login, 'GET', '/me/errors')).status, 503);
});

test('the score of its announcements, with the sample and its bounds', async () => {
  await start();
  const pid = await scene.register('/');
  const nowS = Math.floor(Date.now() / 1000);
  scene.qm.db
    .exec(`INSERT INTO truth(pid, day, changed, same) VALUES (${pid}, ${Math.floor(nowS / 86_400)}, 4, 36);
    INSERT INTO audit VALUES (${pid}, 1, 1, 'http://h/', 'text/html', 4, ${nowS}, NULL, 0, NULL)`);
  const { body } = await ask(`${pid}:${PASSWORD}`, 'GET', '/me');
  assert.deepEqual(body['truthfulness'], {
    score: 29,
    known: true,
    changed: 4,
    same: 36,
    failed: 0,
    audited: 0,
    silent: 0,
    late: 0,
    dead: 0,
    noisy: 0,
    days: [
      {
        day: new Date(nowS * 1000).toISOString().slice(0, 10),
        changed: 4,
        same: 36,
        failed: 0,
        audited: 0,
        silent: 0,
        late: 0,
        dead: 0,
        noisy: 0,
      },
    ],
    audit: { at: nowS, sample: 1, silent: 1, least_percent: 5, most_percent: 100 },
    effects: 'low',
    lowered: false,
    full_sets: 1,
  });
});

test('receipts: the last sets with their counts, and how urls stand', async () => {
  await start();
  const pid = await scene.register('/');
  const login = `${pid}:${PASSWORD}`;
  const [held, waits] = [scene.rs.site.urlOf('/held'), scene.rs.site.urlOf('/waits')];
  await scene.qm.send(pid, [url(held), url(waits)], { atS: 1_700_000_000 });
  scene.qm.fetch(pid, held);
  const query = [held, waits, 'x'].map(one => `url=${encodeURIComponent(one)}`).join('&');
  const { body } = await ask(login, 'GET', `/me/receipts?${query}`);
  assert.deepEqual(body['sets'], [
    {
      accepted: '2023-11-14T22:13:20.000Z',
      full: false,
      complete: true,
      held: false,
      queued: 2,
      duplicate: 0,
      unchanged: 0,
      deleted: 0,
    },
  ]);
  const urls = body['urls'] as { url: string; rows: { state: string }[] }[];
  assert.deepEqual(
    urls.map(each => [each.url, each.rows.map(({ state }) => state)]),
    [
      [held, ['held']],
      [waits, ['waiting']],
      ['x', []],
    ],
  );
  const many = Array.from({ length: 1001 }, () => 'url=x').join('&');
  assert.equal((await ask(login, 'GET', `/me/receipts?${many}`)).status, 400);
});

test('a life: another root, other terms, another password, a root less, leaving, and staying after all', async () => {
  await start();
  const pid = await scene.register('/a/');
  let login = `${pid}:${PASSWORD}`;
  const root = scene.rs.site.urlOf('/b/');
  const begun = await ask(login, 'POST', '/me/roots', { url: root });
  assert.deepEqual(
    [begun.status, begun.body['kind'], begun.body['password'], begun.body['pid']],
    [201, 'root', undefined, pid],
  );
  const { id, file, secret } = begun.body;
  scene.rs.site.pages.set(new URL(String(file)).pathname, String(secret));
  await ask('', 'POST', `/pairs/${String(id)}/check`);
  scene.deliver();
  assert.equal((await ask('', 'GET', `/pairs/${String(id)}`)).body['state'], 'active');
  assert.equal(scene.roots(pid).length, 2);

  const changed = await ask(login, 'POST', '/me/terms', { bandwidth: '100KB' });
  assert.deepEqual(
    [changed.status, changed.body, scene.value('bandwidth', pid)],
    [200, { state: 'done' }, 102_400],
  );

  const made = await ask(login, 'POST', '/me/password', {});
  const { id: rotation, password, ...shown } = made.body;
  assert.deepEqual(Object.keys(shown).toSorted(), ['expires', 'kind', 'pid', 'state', 'uns', 'url']);
  assert.ok(scene.isPassword(pid, PASSWORD));
  await ask('', 'POST', `/pairs/${String(rotation)}/check`);
  scene.deliver();
  assert.equal((await ask('', 'GET', `/pairs/${String(rotation)}`)).body['state'], 'active');
  assert.equal((await ask(login, 'GET', '/me')).status, 401, 'the old one is void');
  login = `${pid}:${String(password)}`;

  assert.equal((await ask(login, 'DELETE', '/me/roots', { url: root })).body['code'], 'count');
  assert.deepEqual((await ask(login, 'DELETE', '/me/roots', { url: root, urls: 0 })).body, { state: 'done' });
  assert.equal(scene.roots(pid).length, 1);
  assert.equal((await ask(login, 'DELETE', '/me/leave')).status, 409);
  assert.deepEqual((await ask(login, 'POST', '/me/leave', { urls: 0 })).body, { state: 'done' });
  assert.equal((await ask(login, 'GET', '/me')).status, 401);
  assert.deepEqual((await ask(login, 'DELETE', '/me/leave')).body, { state: 'done' });
  assert.equal((await ask(login, 'GET', '/me')).status, 200);
  scene.isThere = false;
  assert.deepEqual((await ask(login, 'POST', '/me/leave', { urls: 0 })).status, 202);
});

test('a forgotten password over the API: known and unknown numbers are answered alike', async () => {
  await start();
  const pid = await scene.register('/a/');
  const place = scene.rs.site.urlOf('/a/');
  const [known, unknown] = [
    await ask('', 'POST', '/forgot', { pid, url: place }),
    await ask('', 'POST', '/forgot', { pid: 4711, url: place }),
  ];
  assert.deepEqual([known.status, Object.keys(known.body)], [unknown.status, Object.keys(unknown.body)]);
  assert.equal((await ask('', 'POST', '/forgot', { pid: 'x', url: place })).status, 400);
  const { id, file, secret, password } = known.body;
  scene.rs.site.pages.set(new URL(String(file)).pathname, String(secret));
  await ask('', 'POST', `/pairs/${String(id)}/check`, { give_up: false });
  scene.deliver();
  assert.ok(scene.isPassword(pid, String(password)));
});

test('feeds are listed, added within bounds, and removed', async () => {
  await start();
  const pid = await scene.register('/');
  const login = `${pid}:${PASSWORD}`;
  const feed = scene.rs.site.urlOf('/feed');
  assert.deepEqual((await ask(login, 'GET', '/me/feeds')).body, { feeds: [] });
  const added = await ask(login, 'POST', '/me/feeds', { url: feed, every_s: 600 });
  assert.equal(added.status, 201);
  const [shown] = added.body['feeds'] as Record<string, unknown>[];
  assert.deepEqual([shown?.['url'], shown?.['every_s'], shown?.['subscription']], [feed, 600, 'none']);
  assert.equal((await ask(login, 'POST', '/me/feeds', { url: feed })).body['code'], 'known');
  assert.equal(
    (await ask(login, 'POST', '/me/feeds', { url: 'http://other.example.org/' })).body['code'],
    'url',
  );
  assert.equal(
    (await ask(login, 'POST', '/me/feeds', { url: `${feed}2`, every_s: 'x' })).body['code'],
    'every',
  );
  assert.equal((await ask(login, 'DELETE', '/me/feeds', { url: `${feed}2` })).status, 404);
  assert.deepEqual((await ask(login, 'DELETE', '/me/feeds', { url: feed })).body, { feeds: [] });
  for (let i = 2; i < 20; i++) await ask(login, i % 2 === 0 ? 'POST' : 'DELETE', '/me/feeds', { url: feed });
  assert.equal(
    (await ask(login, 'POST', '/me/feeds', { url: feed })).status,
    429,
    'changes of a provider are bounded',
  );
});
