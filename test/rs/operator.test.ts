/** The operators' pages and their API over a real server: logins, what forms do, and what both show. */
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { after, afterEach, beforeEach, test } from 'node:test';
import type { AccountFile } from '../../src/lib/account-file.js';
import type { IssuedPair } from '../../src/rs/registrar.js';
import type { WebServer } from '../../src/web/server.js';
import { RS_CONTROLS } from '../../src/wire/qm-rs.js';
import type { RsOverview } from '../../src/wire/rs-looks.js';
import { ground } from '../web/support.js';
import { serveOperators } from './operator-pages.js';
import { overviewAt, PROVIDER, ROW, LIFE, LIFE_URL } from './overviews.js';
import { RsScene } from './support.js';

const { services, limits } = ground({ after });
let scene: RsScene;
let server: WebServer;
let accounts: AccountFile;
let password: string;
let overview: RsOverview | undefined;
let problem: string | undefined;
let mailTrouble: string | undefined;
let failed: unknown[];
/** By directory; undefined: the Queue Manager is away. */
let crawlers: Record<string, number[]> | undefined;
let announcers: Record<string, number[]>;
let pair: IssuedPair;

beforeEach(() => start());
afterEach(async () => {
  await server.close();
  assert.deepEqual(failed, []);
  scene.close();
});

async function start(url = ''): Promise<void> {
  scene = await RsScene.start({ 'rs.pairs_per_network': '10' });
  overview = undefined;
  problem = undefined;
  mailTrouble = undefined;
  crawlers = {};
  announcers = {};
  const looks = {
    get overview() {
      return overview;
    },
    get problem() {
      return problem;
    },
    providers: (search: string) =>
      Promise.resolve(search === 'away' ? undefined : { providers: [ROW], next: 7 }),
  };
  const ask = (question: { op: string; pid?: number; url?: string }) =>
    Promise.resolve(
      question.op === 'life'
        ? crawlers && { lives: question.url === LIFE_URL ? [LIFE] : [] }
        : question.op === 'find'
          ? crawlers && {
              pids: [],
              crawlers: crawlers[question.url ?? ''] ?? [],
              announcers: announcers[question.url ?? ''],
            }
          : { provider: question.pid === 7 ? PROVIDER : null },
    );
  const seen = { looks, ask, mailTrouble: () => mailTrouble };
  ({ server, accounts, password, failed } = await serveOperators(scene, { services, limits }, seen, url));
  pair = scene.issue('/docs/');
  scene.place(pair);
  await scene.registrar.check(pair.capability);
}

interface Page {
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: string;
}

function portOf(): number {
  const [endpoint] = server.endpoints;
  assert.ok(endpoint?.kind === 'tcp');
  return endpoint.port;
}

function ask(
  path: string,
  {
    form,
    json,
    headers = {},
  }: { form?: Record<string, string>; json?: object; headers?: Record<string, string> } = {},
): Promise<Page> {
  const body = json === undefined ? form && new URLSearchParams(form).toString() : JSON.stringify(json);
  const type = json === undefined ? 'application/x-www-form-urlencoded' : 'application/json';
  const method = body === undefined ? 'GET' : 'POST';
  const all = { ...(body !== undefined && { 'content-type': type }), ...headers };
  return new Promise((resolve, reject) => {
    const asked = request({ port: portOf(), host: '127.0.0.1', method, path, headers: all }, answer => {
      void text(answer).then(
        whole => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: whole }),
        reject,
      );
    });
    asked.on('error', reject).end(body);
  });
}

/** @returns the header of a session, and its form token */
async function login(): Promise<{ cookie: string; token: string }> {
  const answer = await ask('/op/login', { form: { name: 'ada', password } });
  assert.deepEqual([answer.status, answer.headers.location], [303, '/op']);
  const set = [answer.headers['set-cookie']].flat()[0] ?? '';
  assert.match(set, /^lcc-operator=[\w-]{43}; Path=\/op; HttpOnly; SameSite=Lax$/);
  const cookie = set.split(';')[0] ?? '';
  const { body } = await ask('/op', { headers: { cookie } });
  return { cookie, token: /name="form_token" value="([^"]+)"/.exec(body)?.[1] ?? '' };
}

const basic = () => ({ authorization: `Basic ${Buffer.from(`ada:${password}`).toString('base64')}` });
const waitingId = () => scene.db.registrations.inStates(['waiting'], 1)[0]?.id ?? 0;

test('no page is shown without a login, and a login ends with its password or its account', async () => {
  for (const path of ['/op', '/op/', '/op/queue', '/op/applications/1', '/op/nothing']) {
    const { status, headers } = await ask(path);
    assert.deepEqual([status, headers.location], [303, '/op/login'], path);
  }
  const wrong = await ask('/op/login', { form: { name: 'ada', password: 'x' } });
  const unknown = await ask('/op/login', { form: { name: 'eve', password: 'x' } });
  assert.deepEqual([wrong.status, unknown.status], [401, 401]);
  assert.equal(wrong.body.replaceAll('ada', 'eve'), unknown.body);

  const { cookie } = await login();
  assert.equal((await ask('/op/queue', { headers: { cookie } })).status, 200);
  password = accounts.add('ada');
  assert.equal((await ask('/op/queue', { headers: { cookie } })).status, 303);
  const again = await login();
  const left = await ask('/op/logout', {
    form: { form_token: again.token },
    headers: { cookie: again.cookie },
  });
  assert.equal(left.status, 303);
  assert.equal((await ask('/op', { headers: { cookie: again.cookie } })).status, 303);
  const third = await login();
  accounts.remove('ada');
  assert.equal((await ask('/op', { headers: { cookie: third.cookie } })).status, 303);
  const events = scene.db.audit.page(100).map(({ event, detail }) => `${event} ${detail}`);
  for (const row of ['login ada 127.0.0.0/24']) assert.ok(events.includes(row), row);
});

test('a form of another page, of another session or of none changes nothing', async () => {
  const { cookie, token } = await login();
  const other = await login();
  const path = `/op/applications/${waitingId()}/approve`;
  const own = { cookie };
  const form = { form_token: token };
  for (const [why, given] of [
    ['without a token', { form: {}, headers: own }],
    ['with the token of another session', { form: { form_token: other.token }, headers: own }],
    ['of another origin', { form, headers: { ...own, origin: 'http://evil.example.org' } }],
    ['of another port', { form, headers: { ...own, origin: 'http://127.0.0.1:1' } }],
    ['of another site', { form, headers: { ...own, 'sec-fetch-site': 'cross-site' } }],
    ['under a name of the internet', { form, headers: { ...own, host: 'evil.example.org' } }],
  ] as const)
    assert.equal((await ask(path, given)).status, 403, why);
  assert.equal((await ask(path, { form })).status, 303);
  assert.ok(waitingId() > 0);
  const origin = `http://127.0.0.1:${portOf()}`;
  const done = await ask(path, { form, headers: { ...own, origin, 'sec-fetch-site': 'same-origin' } });
  assert.deepEqual([done.status, waitingId()], [303, 0]);
});

test('behind a proxy forms come from rs.operator_url alone', async () => {
  await server.close();
  scene.close();
  await start('https://ops.example.org/');
  const headers = { origin: 'https://ops.example.org', host: 'backend' };
  const form = { name: 'ada', password };
  const answer = await ask('/op/login', { form, headers });
  assert.match(String(answer.headers['set-cookie']), /^__Host-lcc-operator=[^;]+; .*Secure/);
  const origin = `http://127.0.0.1:${portOf()}`;
  assert.equal((await ask('/op/login', { form, headers: { origin } })).status, 403);
});

test('a site is approved with terms, or refused with a reason, once, and the audit says by whom', async () => {
  const { cookie, token } = await login();
  const headers = { cookie };
  const [first, second] = [waitingId(), scene.issue('/more/')];
  scene.place(second);
  await scene.registrar.check(second.capability);
  const at = `/op/applications/${first}`;
  const post = (path: string, form: Record<string, string>) =>
    ask(path, { form: { form_token: token, ...form }, headers });
  assert.match((await ask('/op', { headers })).body, /2 sites wait for approval/);
  const tooMuch = await post(`${at}/approve`, { filesmax: '1000001', spacemax: '5GB' });
  assert.equal(tooMuch.status, 400);
  assert.match(tooMuch.body, /<a href="#filesmax">[^]*value="1000001"[^]*value="5GB"/);
  assert.equal((await post(`${at}/approve`, { bandwidth: 'much' })).status, 400);
  assert.equal((await post(`${at}/approve`, { filesmax: '50000', bandwidth: '2MB' })).status, 303);
  assert.equal(scene.applied, 1);
  assert.deepEqual(
    scene.db.outbox.waiting(9).map(({ change }) => change.op),
    ['register', 'terms'],
  );
  const late = await post(`${at}/refuse`, { reason: 'no' });
  assert.equal(late.status, 409);
  assert.match(late.body, /is applying, and does not wait for approval/);

  const other = `/op/applications/${waitingId()}`;
  assert.match((await post(`${other}/refuse`, { reason: ' ' })).body, /The reason is missing/);
  assert.equal((await post(`${other}/refuse`, { reason: '<b>not</b> this one' })).status, 303);
  assert.match((await ask(other, { headers })).body, /&lt;b&gt;not&lt;\/b&gt; this one/);
  const details = scene.db.audit.page(9).map(({ event, by, detail }) => `${event} ${by} ${detail}`);
  assert.ok(details.includes('refused operator ada: <b>not</b> this one'));
  assert.ok(details.includes('approved operator ada: {"filesmax":50000,"bandwidth":2097152}'));
  assert.match((await ask('/op/refusals', { headers })).body, /ada: &lt;b&gt;not/);
});

test('another directory of a provider is shown as one, has no terms to give, and is approved without', async () => {
  const { cookie, token } = await login();
  const root = scene.registrar.issueRoot(100_000, scene.site.urlOf('/more/'), 'x');
  scene.place(root);
  await scene.registrar.check(root.capability);
  const id = waitingId();
  const at = `/op/applications/${id}`;
  const { body } = await ask(at, { headers: { cookie } });
  assert.match(body, /<dt>What<\/dt>\s*<dd>another directory<\/dd>[^]*another directory of provider/);
  assert.doesNotMatch(body, /name="filesmax"|Wishes/);
  const list = (await ask('/op/applications', { headers: { cookie } })).body;
  assert.match(list, /<dd>another directory</);
  assert.match(list, /<dd>new site</);
  const told = await ask(`/api/v1/op/applications/${id}`, { headers: basic() });
  assert.equal((JSON.parse(told.body) as { kind: string }).kind, 'root');

  const form = { form_token: token, filesmax: '20000' };
  const refused = await ask(`${at}/approve`, { form, headers: { cookie } });
  assert.equal(refused.status, 400);
  assert.match(refused.body, /Another directory of a provider has no terms of its own/);
  const json = { filesmax: 20_000 };
  const byProgram = await ask(`/api/v1/op/applications/${id}/approve`, { json, headers: basic() });
  assert.deepEqual([byProgram.status, (JSON.parse(byProgram.body) as { code: string }).code], [400, 'terms']);
  assert.throws(
    () => scene.transitions.approve(id, { filesmax: 20_000 }),
    /is another directory of provider 100000, and has no terms/,
  );
  assert.equal(scene.db.outbox.count(), 0);
  const approved = await ask(`${at}/approve`, { form: { form_token: token }, headers: { cookie } });
  assert.equal(approved.status, 303);
  assert.deepEqual(
    scene.db.outbox.waiting(9).map(({ change }) => change.op),
    ['root-add'],
  );
});

test('who decides on a site sees which providers crawl or announce it already, and what to do', async () => {
  const { cookie } = await login();
  const path = `applications/${waitingId()}`;
  const page = async () => (await ask(`/op/${path}`, { headers: { cookie } })).body;
  const told = async () =>
    (JSON.parse((await ask(`/api/v1/op/${path}`, { headers: basic() })).body) as { crawled_by: unknown })
      .crawled_by;
  assert.doesNotMatch(await page(), /crawls this site/);
  assert.deepEqual(await told(), []);
  crawlers = { [scene.site.urlOf('/docs/')]: [204, 7, 100_000] };
  const named = await page();
  assert.match(named, /providers\/7">7<\/a> crawls this site[^]*providers\/204">204<\/a> crawls this site/);
  assert.match(named, /lccpidb set --pid=7 --spider=no<[^]*lccpidb passwd --pid=7</);
  assert.deepEqual(await told(), [7, 204], 'others, not itself');
  announcers = { [scene.site.urlOf('/docs/')]: [206, 100_000] };
  const notes = (await page()).match(
    /\d+<\/a> announces pages of this site<\/h2>\s*<p>\s*[^<]*Approve it only/g,
  );
  assert.deepEqual(
    notes?.map(note => note.split('<')[0]),
    ['206'],
    'before it is approved; not itself',
  );
  crawlers = undefined;
  assert.match(await page(), /crawls this site is not known/);
  assert.equal(await told(), null);
});

test('what is done to a provider goes to the Queue Manager with a reason', async () => {
  const { cookie, token } = await login();
  const headers = { cookie };
  scene.feeds.add(7, scene.site.urlOf('/feed'), 60_000, [scene.site.urlOf('/')], 'operator');
  const shown = await ask('/op/providers/7', { headers });
  assert.match(shown.body, /\/feed<\/td>[^]*not yet, every\s+1 min/);
  assert.match(shown.body, /formaction="\/op\/providers\/7\/pause"[^]*\/7\/disable"/);
  assert.doesNotMatch(shown.body, /providers\/7\/(?:resume|enable)"/);
  const post = (op: string, reason: string) =>
    ask(`/op/providers/7/${op}`, { form: { form_token: token, reason }, headers });
  assert.equal((await post('pause', '')).status, 400);
  for (const op of RS_CONTROLS) assert.equal((await post(op, 'why')).status, 303);
  assert.deepEqual(
    scene.db.outbox.waiting(9).map(({ change }) => `${change.op} ${change.pid}`),
    RS_CONTROLS.map(op => `${op} 7`),
  );
  const [audited] = scene.db.audit.page(1);
  assert.deepEqual([audited?.event, audited?.registration, audited?.detail], ['enable', null, 'ada: why']);
  assert.equal((await ask('/op/providers/8', { headers })).status, 404);
  assert.equal((await ask('/op/providers/x', { headers })).status, 404);
});

test('mail that waits is on the overview and in the API, with its age and what the mail server said', async () => {
  const { cookie } = await login();
  const page = async () => (await ask('/op', { headers: { cookie } })).body.replace(/\s+/g, ' ');
  const told = async () =>
    JSON.parse((await ask('/api/v1/op', { headers: basic() })).body) as Record<string, unknown>;
  mailTrouble = '451 later';
  const toldOf = async () => {
    const { mails_waiting: count, mail_since: since, mail_trouble: trouble } = await told();
    return [count, since, trouble];
  };
  assert.deepEqual(await toldOf(), [0, null, null], 'the trouble of before is over with the mails');
  assert.doesNotMatch(await page(), /mails? waits?/);
  const madeMs = scene.clock.nowMs() - 180_000;
  const mail = { kind: 'sites', registration: null, address: 'ops@example.org', body: '' } as const;
  scene.db.write(() => {
    for (const i of [0, 1]) scene.db.mails.add({ ...mail, message: `<${i}@a>` }, madeMs + i * 60_000);
  });
  overview = { ...overviewAt(madeMs), reasons: ['2 mails wait for the server of rs.smtp: 451 later', 'b'] };
  assert.deepEqual(await toldOf(), [2, new Date(madeMs).toISOString(), '451 later']);
  assert.match(await page(), /2 mails wait for the mail server, the oldest for 3 min: 451 later/);
  assert.equal((await page()).match(/451 later/g)?.length, 1, 'it is said once');
});

test('the API shows and does the same, without cookies', async () => {
  overview = overviewAt(scene.clock.nowMs(), {}, [3]);
  const { cookie } = await login();
  assert.equal((await ask('/api/v1/op', { headers: { cookie } })).status, 401);
  const get = async (path: string) => {
    const answer = await ask(`/api/v1/op${path}`, { headers: basic() });
    assert.equal(answer.status, 200, path);
    return JSON.parse(answer.body) as Record<string, unknown>;
  };
  const { summary, sites_waiting: sites } = await get('/');
  assert.deepEqual([summary, sites], ['6 urls wait for 1 provider', 1]);
  assert.deepEqual((await get('/queue'))['total'], overview.queue.total);
  assert.deepEqual((await get('/daemons'))['machines'], overview.machines);
  assert.deepEqual((await get('/providers?search=x'))['providers'], [ROW]);
  assert.equal((Object((await get('/providers/7'))['provider']) as typeof PROVIDER).pid, 7);
  assert.deepEqual(await get('/series'), { step_ms: 10_000, times: [], figures: {} });
  const id = waitingId();
  const post = (path: string, json: object) => ask(`/api/v1/op${path}`, { json, headers: basic() });
  assert.equal((await post(`/applications/${id}/refuse`, {})).status, 400);
  assert.equal(
    (await ask(`/api/v1/op/applications/${id}/refuse`, { form: { reason: 'x' }, headers: basic() })).status,
    415,
  );
  const approved = await post(`/applications/${id}/approve`, { filesmax: 20_000 });
  assert.equal((JSON.parse(approved.body) as { state: string }).state, 'applying');
  assert.equal((await post('/providers/7/pause', { reason: 'too slow' })).status, 202);
  const { rows } = await get('/audit?pid=7');
  assert.match(JSON.stringify(rows), /ada: too slow/);
  assert.equal((await get('/refusals'))['next'], null);
  assert.doesNotMatch(JSON.stringify(await get('/applications')), /secret|password|sha256/);
  for (const path of ['/audit?before=x', '/providers?after=-1'])
    assert.equal((await ask(`/api/v1/op${path}`, { headers: basic() })).status, 400);
  assert.equal((await ask('/api/v1/op/nothing', { headers: basic() })).status, 404);
  assert.equal((await ask('/api/v1/op/providers?search=away', { headers: basic() })).status, 503);
});

test('operators look up what became of a url', async () => {
  const { cookie } = await login();
  const look = async (url: string) => {
    const { status, body } = await ask(`/op/url?url=${encodeURIComponent(url)}`, { headers: { cookie } });
    return { status, text: body.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ') };
  };
  const { text } = await look(LIFE_URL);
  assert.match(
    text,
    /provider 7, root http:\/\/h\/ .* in the queue yes; tried 2 times in vain its provider does not/,
  );
  assert.match(
    text,
    /last fetch failed at .*: 500 a &lt;b&gt;; lcccp has told it to do The program of the page failed\./,
  );
  assert.match((await look('http://x/')).text, /No provider has a root around http:\/\/x\//);
  assert.doesNotMatch((await look('')).text, /No provider has/);
  crawlers = undefined;
  assert.equal((await look('http://x/')).status, 503);
});

test('pages show what was seen last while the Queue Manager is away, and escape what others wrote', async () => {
  const { cookie } = await login();
  const headers = { cookie };
  assert.match((await ask('/op/queue', { headers })).body, /Nothing was seen yet/);
  overview = { ...overviewAt(scene.clock.nowMs() - 90_000), reasons: ['a <b> & c; lccstat'] };
  problem = 'lccd-rs cannot reach lccd-qm';
  const first = (await ask('/op', { headers })).body;
  assert.match(first, /Seen 90 s ago[^]*lccd-rs cannot reach lccd-qm[^]*A &lt;b&gt; &amp; c/);
  assert.match((await ask('/op/daemons', { headers })).body, /m2[^]*away/);
  assert.match(
    (await ask('/op/providers', { headers })).body,
    /&lt;script&gt;alert[^]*and 1 more[^]*after=7/,
  );
  assert.match((await ask('/op/applications', { headers })).body, new RegExp(`applications/${waitingId()}`));
  assert.match((await ask('/op/audit?pid=100000', { headers })).body, /Audit of provider 100000[^]*proven/);
});
