/** Each transition, login, operation and refusal of registration: a row of the audit, and a line in the log for each row. */
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, afterEach, test } from 'node:test';
import { Hono } from 'hono';
import { silentLog, type LogFields } from '../../src/lib/log.js';
import { RsDatabase } from '../../src/db/rs/database.js';
import { apiOf, type NodeBindings } from '../../src/rs/api.js';
import { logAudit } from '../../src/rs/audit-log.js';
import { listenerOf } from '../../src/rs/listener.js';
import { RefusedRequests } from '../../src/rs/refused-requests.js';
import { WebSessions } from '../../src/rs/sessions.js';
import { serveWeb } from '../../src/web/server.js';
import { ground } from '../web/support.js';
import { AccountScene, NETWORK } from './account-scene.js';
import { PagesScene } from './pages-support.js';

const on = ground({ after });
let scene: AccountScene;
let lines: { event: string; fields: LogFields }[];
afterEach(() => scene.close());

async function start(...args: Parameters<typeof AccountScene.start>): Promise<void> {
  scene = await AccountScene.start(...args);
  lines = [];
  scene.rs.db.onCommit = logAudit(scene.rs.db, {
    ...silentLog,
    info: (event, fields = {}) => void lines.push({ event, fields }),
  });
}

const rows = () => scene.rs.db.audit.after(0, 1000);
/** One line for each row, with what it has. */
function assertLogged(): void {
  assert.deepEqual(
    lines.map(({ event, fields }) => [fields['audit'], event, fields['by'], fields['detail'] ?? '']),
    rows().map(({ id, event, by, detail }) => [id, event, by, detail]),
  );
}
const events = () => rows().map(({ event, by }) => `${event} by ${by}`);

test('each transition of a registration is a row and a line: from pair to provider, refused, cancelled, expired, cut off, renumbered', async () => {
  await start({ 'rs.mode': 'approve', 'rs.pairs_per_network': '20' });
  const { rs } = scene;
  const proven = async (path: string) => {
    const pair = rs.issue(path);
    rs.place(pair);
    await rs.registrar.check(pair.capability);
    return rs.standing(pair);
  };
  const joined = await proven('/a/');
  rs.transitions.approve(joined.id, {}, 'ada');
  scene.deliver();
  const told = ['issued by applicant', 'check begun by applicant', 'proven by rs'];
  assert.deepEqual(events(), [...told, 'approved by operator', 'register done by qm']);
  const seen = () => events().slice(before);
  let before = rows().length;
  rs.transitions.refuse((await proven('/b/')).id, 'why', 'ada');
  assert.deepEqual(seen(), [...told, 'refused by operator']);

  before = rows().length;
  const missing = rs.issue('/c/');
  await rs.registrar.check(missing.capability);
  rs.registrar.cancel(missing.capability);
  assert.deepEqual(seen(), [...told.slice(0, 2), 'check failed by rs', 'cancelled by applicant']);

  before = rows().length;
  const cut = rs.issue('/d/');
  assert.ok(rs.transitions.begin(rs.standing(cut)));
  assert.equal(rs.transitions.putBack(), 1);
  assert.deepEqual(seen(), [...told.slice(0, 2), 'check cut off by rs']);
  rs.registrar.cancel(cut.capability);

  before = rows().length;
  const late = await proven('/e/');
  rs.transitions.approve(late.id, {}, 'ada');
  const [operation] = rs.db.outbox.waiting(1);
  assert.ok(operation);
  rs.transitions.settle(operation, { refused: 'taken', text: 'taken' }, 100_000);
  scene.deliver();
  assert.deepEqual(seen(), [
    ...told,
    'approved by operator',
    'register refused by qm',
    'renumbered by rs',
    'register done by qm',
  ]);

  before = rows().length;
  rs.issue('/f/');
  rs.clock.byMs += 8 * 86_400_000;
  rs.transitions.tidy(86_400_000, 365 * 86_400_000);
  assert.deepEqual(seen(), ['issued by applicant', 'expired by rs']);
  assertLogged();
});

test('each login, logout and refused login is, and each thing that a provider or an operator wants done', async () => {
  await start();
  const { rs, account } = scene;
  const pid = await scene.register('/');
  let before = rows().length;
  const sessions = new WebSessions(rs.db, rs.clock.nowMs, rs.options.sessions);
  const login = { kind: 'provider', account: String(pid), mark: '1', network: NETWORK } as const;
  sessions.end(sessions.begin(login));
  sessions.begin(login);
  sessions.endOf('provider', String(pid));
  const seen = () => events().slice(before);
  assert.deepEqual(seen(), ['login by provider', 'logout by provider', 'sessions ended by provider']);

  before = rows().length;
  await account.changeTerms(pid, { bandwidth: '500KB' });
  await account.rotate(pid, NETWORK);
  rs.transitions.control({ op: 'pause', pid }, 'why', 'ada');
  scene.deliver();
  assert.deepEqual(seen(), [
    'terms asked by provider',
    'terms done by qm',
    'rotation issued by provider',
    'rotation begun by provider',
    'password done by qm',
    'pause by operator',
    'pause done by qm',
  ]);
  assertLogged();
});

test('what another process decides has its line too, once', async () => {
  await start({ 'rs.mode': 'approve' });
  const { rs } = scene;
  const catchUp = (rs.db.onCommit = logAudit(rs.db, {
    ...silentLog,
    info: (event, fields = {}) => void lines.push({ event, fields }),
  }));
  const other = RsDatabase.open(rs.db.path);
  other.write(() =>
    other.audit.add({ event: 'refused', registration: 1, pid: 9, by: 'operator', detail: 'lccrs: why' }, 1),
  );
  other.close();
  for (const _ of [1, 2]) catchUp();
  assert.deepEqual(lines, [
    { event: 'refused', fields: { audit: 1, by: 'operator', registration: 1, pid: 9, detail: 'lccrs: why' } },
  ]);
});

test('what is not committed has no line', async () => {
  await start();
  const { db } = scene.rs;
  const event = { event: 'x', registration: null, pid: null, by: 'rs', detail: '' } as const;
  assert.throws(() =>
    db.write(() => {
      db.audit.add(event, 1);
      throw new Error('no');
    }),
  );
  assert.deepEqual([rows(), lines], [[], []]);
});

/** Pages and API with the notes of what they refuse. */
async function serveBoth(): Promise<{ port: number; refused: RefusedRequests; close: () => Promise<void> }> {
  const { rs, account, door } = scene;
  const { db, options, registrar, clock } = rs;
  const refused = new RefusedRequests({
    db,
    nowMs: clock.nowMs,
    proxies: [],
    by: 'applicant',
    limit: options.refusals,
  });
  const view = { door, ask: (...args: Parameters<typeof rs.ask>) => Promise.resolve(rs.ask(...args)) };
  const api = apiOf({
    account,
    registrar,
    options,
    feeds: rs.feeds,
    view,
    failed: (_path, error) => void rs.failures.push(error),
  });
  const app = new Hono<{ Bindings: NodeBindings }>({ strict: false }).route('/base/api/v1', api);
  const site = PagesScene.siteOf(rs, view, account);
  app.route('/base', site.app);
  app.onError(site.onError);
  const endpoint = { kind: 'tcp', host: '127.0.0.1', port: 0 } as const;
  const server = await serveWeb(
    on.services,
    [endpoint],
    listenerOf(app, on.services.log, refused.answered),
    on.limits,
  );
  const [bound] = server.endpoints;
  assert.ok(bound?.kind === 'tcp');
  return { port: bound.port, refused, close: () => server.close() };
}

function ask(port: number, method: string, path: string, headers: Record<string, string>, body = '') {
  return new Promise<number>((resolve, reject) => {
    request({ port, method, path: `/base${path}`, headers }, answer => {
      answer.resume().on('end', () => resolve(answer.statusCode ?? 0));
    })
      .on('error', reject)
      .end(body);
  });
}

test('requests that are refused are rows and lines: limits, a closed LCC, forms of other sites, wrong passwords; one an hour for each network and kind', async () => {
  await start({}, ({ limits, refusals }) => {
    limits.perHost = { most: 1, text: '1' };
    Object.assign(refusals, { most: 5, text: '5' });
  });
  const { rs } = scene;
  const { port, refused, close } = await serveBoth();
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const json = { 'content-type': 'application/json' };
  const body = `url=${encodeURIComponent(rs.site.urlOf('/'))}`;
  const basic = { authorization: `Basic ${Buffer.from('100000:wrong').toString('base64')}` };
  assert.equal(await ask(port, 'POST', '/register', form, body), 303);
  for (const _ of [1, 2, 3]) assert.equal(await ask(port, 'POST', '/register', form, body), 429);
  rs.options.mode = 'closed';
  assert.equal(await ask(port, 'POST', '/register', form, body), 403);
  const pair = JSON.stringify({ url: rs.site.urlOf('/') });
  assert.equal(await ask(port, 'POST', '/api/v1/pairs', json, pair), 403);
  assert.equal(await ask(port, 'POST', '/pair/0123456789/check', { ...form, origin: 'http://evil/' }), 403);
  assert.equal(await ask(port, 'GET', '/api/v1/me', basic), 401);
  for (const number of ['100000', '7'])
    assert.equal(await ask(port, 'POST', '/login', form, `number=${number}&password=wrong`), 401);
  // Mistakes are none of them.
  assert.equal(await ask(port, 'GET', '/pair/0123456789', {}), 404);
  assert.equal(await ask(port, 'POST', '/api/v1/pairs', json, '{'), 400);
  const refusals = rows().slice(1);
  assert.deepEqual(
    refusals.map(({ event, by }) => `${event} by ${by}`),
    [
      'request refused by applicant',
      'request refused by applicant',
      'request refused by applicant',
      'login refused by applicant',
    ],
  );
  const [limit, isClosed, foreign, login] = refusals.map(({ detail }) => detail);
  assert.match(
    limit ?? '',
    /^429 too-many from 127\.0\.0\.0\/24: POST \/base\/register: too many open pairs .* 1/,
  );
  assert.match(isClosed ?? '', /^403 closed from 127\.0\.0\.0\/24: POST \/base\/register: /);
  assert.match(foreign ?? '', /^403 cross-site .* POST \/base\/pair\/ID\/check: /);
  assert.match(login ?? '', /^401 login .* GET \/base\/api\/v1\/me: /);
  assert.equal(rs.db.audit.page(10, { isRefusal: true }).length, 4, 'operators see them among the refusals');

  // Those that had no row are counted.
  rs.clock.byMs += 3_600_000;
  refused.tidy();
  const [last] = rs.db.audit.page(1);
  assert.deepEqual([last?.event, last?.detail], ['requests refused', '5 more in an hour: 5']);
  assertLogged();
  await close();
});
