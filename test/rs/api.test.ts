/** The JSON API over HTTP, as programs and pages of other sites ask it. */
import { networkOf } from '../../src/rs/limits.js';
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { Hono } from 'hono';
import { text } from 'node:stream/consumers';
import { after, afterEach, beforeEach, test } from 'node:test';
import { Account } from '../../src/rs/account.js';
import { apiOf, type NodeBindings } from '../../src/rs/api.js';
import { RsRequestRefused } from '../../src/rs/refusal.js';
import type { ProviderReport } from '../../src/wire/cp-uns/client.js';
import { EMPTY_REPORT } from './account-scene.js';
import { parseNetwork } from '../../src/lib/network.js';
import { listenerOf } from '../../src/rs/listener.js';
import { serveWeb, type WebServer } from '../../src/web/server.js';
import { ground } from '../web/support.js';
import { RsScene } from './support.js';

const { services, limits } = ground({ after });
let scene: RsScene;
let server: WebServer;
let failed: unknown[] = [];
/** What the UNS was asked. */
let asked: string[] = [];

beforeEach(async () => {
  scene = await RsScene.start({ 'rs.pairs_per_network': '3' });
  failed = [];
  const ask = () => Promise.resolve({ provider: { generation: 3, password: 'x' } });
  const door = { look, isRight: () => Promise.resolve({ enabled: true }) };
  const { db, options, registrar, room, clock } = scene;
  const applied = () => undefined;
  const api = apiOf({
    account: new Account({ db, options, registrar, room, door, ask, clock, applied, patienceMs: 1 }),
    registrar,
    options: { ...scene.options, proxies: [parseNetwork('127.0.0.0/8')] },
    feeds: scene.feeds,
    view: { door, ask },
    failed: (_path, error) => void failed.push(error),
  });
  const app = new Hono<{ Bindings: NodeBindings }>({ strict: false }).route('/base/api/v1', api);
  const endpoint = { kind: 'tcp', host: '127.0.0.1', port: 0 } as const;
  server = await serveWeb(services, [endpoint], listenerOf(app, services.log), limits);
});
afterEach(async () => {
  await server.close();
  scene.close();
});

const REPORT: ProviderReport = {
  ...EMPTY_REPORT,
  files: { used: 1, free: 2 },
  space: { used: 3, free: 4 },
  errors: 1,
  processing: 5,
};

/** A UNS that knows one provider. */
async function look(pid: string, password: string, address: string) {
  asked.push(`${pid} ${address}`);
  if (pid !== '100000' || password !== 'right') throw new RsRequestRefused(401, 'login', 'no', 'check both');
  const record = { curl: 'http://a/', mimetype: 'text/html', code: '404', text: 'not found' };
  return Promise.resolve({ report: REPORT, errors: [record] });
}

interface Answer {
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: Record<string, unknown>;
}

function ask(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const [endpoint] = server.endpoints;
  assert.ok(endpoint?.kind === 'tcp');
  const words = typeof body === 'string' ? body : JSON.stringify(body);
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const asked = request(
      { port: endpoint.port, method, path: `/base/api/v1/${path}`, headers: { ...type, ...headers } },
      answer => {
        void text(answer).then(said => {
          const parsed = said === '' ? {} : (JSON.parse(said) as Record<string, unknown>);
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: parsed });
        }, reject);
      },
    );
    asked.on('error', reject).end(words);
  });
}

const pair = (headers?: Record<string, string>) =>
  ask('POST', 'pairs', { url: scene.site.urlOf('/docs/') }, headers);

test('a pair: shown whole once, then without its secrets, proven, and given up too late', async () => {
  const { status, headers, body } = await pair();
  assert.equal(status, 201);
  assert.equal(headers['cache-control'], 'no-store');
  assert.match(String(headers['content-security-policy']), /default-src 'none'/);
  const { id, secret, password, expires, ...shown } = body;
  assert.match(String(id), /^[0-9a-f]{32}$/);
  assert.ok(String(secret).length === 27 && String(password).length === 27 && secret !== password);
  assert.ok(Date.parse(String(expires)) > Date.now());
  const file = String(shown['file']);
  assert.deepEqual(shown, {
    state: 'issued',
    pid: 100_000,
    url: scene.site.urlOf('/docs/'),
    file,
    tries_left: 30,
    uns: 'tls:lcc.example.org:9443',
  });
  assert.deepEqual((await ask('GET', `pairs/${String(id)}`)).body, { ...shown, expires });
  scene.site.pages.set(new URL(file).pathname, `${String(secret)}\n`);
  const checked = await ask('POST', `pairs/${String(id)}/check/`, {});
  assert.deepEqual(
    [checked.status, checked.body['state'], checked.body['proven'], checked.body['tries_left']],
    [200, 'waiting', [scene.site.urlOf('/docs/')], 29],
  );
  const late = await ask('DELETE', `pairs/${String(id)}`);
  assert.deepEqual([late.status, late.body['code']], [409, 'too-late']);
});

test('a bandwidth that no new site gets is refused with the limit, and not made less in silence', async () => {
  const { status, body } = await ask('POST', 'pairs', { url: scene.site.urlOf('/'), bandwidth: '2MB' });
  assert.deepEqual([status, body['code']], [400, 'bandwidth']);
  assert.match(String(body['what']), /the limit is 1 MB\/s$/);
  assert.equal(scene.db.registrations.open(), 0);
});

test('a refusal says what, where and what to do, and never repeats the capability', async () => {
  const { body } = await pair();
  const { id } = body;
  await ask('POST', `pairs/${String(id)}/check`, {});
  const soon = await ask('POST', `pairs/${String(id)}/check`, {});
  const waitS = Number(soon.headers['retry-after']);
  assert.deepEqual(soon.body, {
    code: 'too-often',
    what: 'a check so soon after the last one: there are 10 s between two',
    where: '/base/api/v1/pairs/ID/check',
    do: `try again in ${waitS} s`,
  });
  assert.ok(soon.status === 429 && waitS >= 1 && waitS <= 10);
  const gone = await ask('DELETE', `pairs/${String(id)}`);
  assert.equal(gone.status, 204);
  assert.equal((await ask('GET', `pairs/${String(id)}`)).status, 410);
});

test('a check needs no body, also from a program that says that it sends JSON', async () => {
  const { body } = await pair();
  const path = `pairs/${String(body['id'])}/check`;
  const json = { 'content-type': 'application/json' };
  assert.deepEqual((await ask('POST', path, '', json)).status, 200);
  const malformed = await ask('POST', path, '{', json);
  assert.deepEqual([malformed.status, malformed.body['code']], [400, 'malformed']);
});

test('a pair that has expired is gone: 410, whatever is asked of it', async () => {
  const { body } = await pair();
  const { id } = body;
  scene.clock.byMs += 8 * 86_400_000;
  scene.transitions.tidy(30 * 86_400_000, 365 * 86_400_000);
  for (const [method, path] of [
    ['GET', `pairs/${String(id)}`],
    ['POST', `pairs/${String(id)}/check`],
    ['DELETE', `pairs/${String(id)}`],
  ] as const) {
    const gone = await ask(method, path, method === 'POST' ? {} : undefined);
    assert.deepEqual([gone.status, gone.body['code']], [410, 'expired'], method);
  }
});

test('pairs that are unknown are answered alike, whatever is asked of them', async () => {
  const { body } = await pair();
  const other = String(body['id']).replace(/.$/, last => (last === '0' ? '1' : '0'));
  const answers = await Promise.all([
    ask('GET', `pairs/${other}`),
    ask('GET', 'pairs/x'),
    ask('GET', `pairs/${encodeURIComponent("' OR 1=1 --")}`),
    ask('POST', `pairs/${other}/check`, {}),
    ask('DELETE', `pairs/${other}`),
  ]);
  for (const { status, body: said } of answers)
    assert.deepEqual([status, said['code'], said['what']], [404, 'unknown', 'there is no such pair']);
});

test('what is malformed is refused, and counts for nothing', async () => {
  const cases: [number, string, unknown, Record<string, string>?][] = [
    [415, 'type', 'url=http://a/', { 'content-type': 'application/x-www-form-urlencoded' }],
    [415, 'type', '{}', { 'content-type': 'text/plain' }],
    [400, 'malformed', '{'],
    [400, 'malformed', '[]'],
    [400, 'malformed', 'null'],
    [400, 'malformed', { url: 7 }],
    [400, 'address', {}],
    [400, 'address', { url: 'http://169.254.169.254/latest/' }],
    [400, 'address', { url: 'javascript:alert(1)' }],
    [400, 'address', { url: 'http://www.example.org/\r\nSet-Cookie: a=b' }],
    [400, 'bandwidth', { url: scene.site.urlOf('/'), bandwidth: '-1' }],
    [400, 'hours', { url: scene.site.urlOf('/'), hours: '25-0,x' }],
    [413, 'too-large', { url: 'x'.repeat(20_000) }],
  ];
  for (const [status, code, body, headers] of cases) {
    const answer = await ask('POST', 'pairs', body, headers);
    assert.deepEqual([answer.status, answer.body['code']], [status, code], JSON.stringify(body));
    assert.ok(answer.body['do'] !== '');
  }
  assert.equal(scene.db.registrations.open(), 0);
  assert.deepEqual(failed, []);
});

test('wishes are kept with the pair', async () => {
  const { status } = await ask('POST', 'pairs', {
    url: scene.site.urlOf('/'),
    bandwidth: '500KB',
    hours: '0-3',
  });
  assert.equal(status, 201);
  const hours = `${'1'.repeat(4)}${'0'.repeat(20)}`;
  assert.deepEqual(scene.db.registrations.get(1)?.wishes, { bandwidth: 512_000, hours });
});

test('a page of another site can ask for nothing', async () => {
  const own = 'http://lcc.example.org';
  for (const headers of [
    { origin: 'http://evil.example' },
    { origin: 'null' },
    { origin: `${own}:8080` },
    { origin: `${own}.evil.example` },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: own, 'sec-fetch-site': 'cross-site' },
  ]) {
    const { status, body } = await pair(headers);
    assert.deepEqual([status, body['code']], [403, 'cross-site'], JSON.stringify(headers));
  }
  assert.equal((await pair({ origin: own, 'sec-fetch-site': 'same-origin' })).status, 201);
  assert.equal(scene.db.registrations.open(), 1);
});

test('pairs are counted by the network of the applicant, as a proxy that is believed has it', async () => {
  const from = async (address: string) => (await pair({ 'x-forwarded-for': address })).status;
  assert.deepEqual(
    [
      await from('192.0.2.1'),
      await from('192.0.2.200'),
      await from('203.0.113.9, 192.0.2.3'),
      await from('192.0.2.4'),
    ],
    [201, 201, 201, 429],
  );
  assert.equal(await from('198.51.100.1'), 201);
  assert.equal(networkOf('192.0.2.77'), '192.0.2.0/24');
  assert.equal(networkOf('::ffff:192.0.2.77'), '192.0.2.0/24');
  assert.equal(networkOf('2001:db8:1:2:3::4'), '2001:db8:1::/48');
  assert.equal(networkOf(''), 'local');
});

test('a provider sees how it stands with its number and password, and a stranger is told nothing', async () => {
  asked = [];
  const me = (login: string) =>
    ask('GET', 'me', undefined, { authorization: `Basic ${Buffer.from(login).toString('base64')}` });
  const { status, body } = await me('100000:right');
  assert.equal(status, 200);
  assert.deepEqual(
    [body['waiting'], body['errors'], body['generation'], body['password']],
    [5, 1, 3, undefined],
  );
  assert.deepEqual(body['shown'], [
    { code: 404, curl: 'http://a/', mimetype: 'text/html', text: 'not found' },
  ]);
  assert.deepEqual(asked, ['100000 127.0.0.1']);
  for (const login of ['100000:wrong', '100001:right', 'x:right', '100000', `100000:${'x'.repeat(200)}`]) {
    const refused = await me(login);
    assert.equal(refused.status, 401, login);
    assert.match(String(refused.headers['www-authenticate']), /^Basic realm=/);
  }
  assert.equal((await ask('GET', 'me')).status, 401);
});

test('what fails inside is logged, and not shown', async () => {
  scene.db.close();
  const { status, body } = await ask('GET', 'pairs/x');
  assert.deepEqual([status, body['code']], [503, 'failed']);
  assert.equal(failed.length, 1);
  scene.open();
});

test('there is nothing elsewhere', async () => {
  for (const [method, path] of [
    ['GET', 'you'],
    ['PUT', 'pairs'],
  ] as const)
    assert.equal((await ask(method, path)).status, 404);
});
