/** Sites as operators see them: the list of them, the page of one with its terms, and a Queue Manager that hangs. */
import assert from 'node:assert/strict';
import { after, afterEach, beforeEach, test } from 'node:test';
import type { KeptError } from '../../src/wire/qm-rs.js';
import type { RsOverview } from '../../src/wire/rs-looks.js';
import { ground } from '../web/support.js';
import { serveOperators, type ServedOperators } from './operator-pages.js';
import { overviewAt, PROVIDER, ROW, setAt } from './overviews.js';
import { RsScene } from './support.js';

const { services, limits } = ground({ after });
let scene: RsScene;
let served: ServedOperators;
let overview: RsOverview | undefined;
/** Of provider 7, besides `PROVIDER`. */
let standing: object;
let errors: KeptError[];
/** The Queue Manager hangs. */
let isSilent: boolean;
let cookie: string;
let token: string;

beforeEach(async () => {
  scene = await RsScene.start();
  overview = undefined;
  standing = {};
  errors = [];
  isSilent = false;
  const looks = {
    get overview() {
      return overview;
    },
    problem: undefined,
    providers: () => Promise.resolve({ providers: [ROW], next: null }),
  };
  const told = ({ op, code }: { op: string; code?: number }) =>
    op === 'errors'
      ? { errors: errors.filter(error => code === undefined || error.code === code) }
      : { provider: { ...PROVIDER, ...standing } };
  const seen = {
    looks,
    ask: (question: { op: string; code?: number }) => Promise.resolve(isSilent ? undefined : told(question)),
    mailTrouble: () => undefined,
  };
  served = await serveOperators(scene, { services, limits }, seen);
  const { headers } = await send('/op/login', { form: { name: 'ada', password: served.password } });
  cookie = headers.get('set-cookie')?.split(';')[0] ?? '';
  token = /name="form_token" value="([^"]+)"/.exec((await ask('/op')).body)?.[1] ?? '';
});
afterEach(async () => {
  await served.server.close();
  assert.deepEqual(served.failed, []);
  scene.close();
});

interface Sent {
  form?: Record<string, string>;
  json?: object;
}

function send(
  path: string,
  { form, json }: Sent = {},
  headers: Record<string, string> = {},
): Promise<Response> {
  const body = form === undefined ? json && JSON.stringify(json) : new URLSearchParams(form);
  return fetch(`http://127.0.0.1:${served.port}${path}`, {
    redirect: 'manual',
    headers: { ...headers, ...(json && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { method: 'POST', body }),
  });
}

/** As a browser that is logged in, or as a program with the password. */
async function ask(path: string, { form, json }: Sent = {}): Promise<{ status: number; body: string }> {
  const basic = `Basic ${Buffer.from(`ada:${served.password}`).toString('base64')}`;
  const sent = form === undefined ? { ...(json && { json }) } : { form: { form_token: token, ...form } };
  const answer = await send(path, sent, path.startsWith('/api') ? { authorization: basic } : { cookie });
  return { status: answer.status, body: await answer.text() };
}

test('the overview lists sites: how each stands, when it was heard of, its last sets as bars, what waits, errors', async () => {
  const page = async (path = '/op') => (await ask(path)).body.replace(/\s+/g, ' ');
  const nowMs = scene.clock.nowMs();
  overview = overviewAt(nowMs);
  assert.match(await page(), /Add a site.*cache\.example\.org\/register.*lccpidb add --pid=1 --root=/);
  const sets = [
    setAt(nowMs - 1000, { held: 1 }),
    setAt(nowMs - 2000, { complete: 0 }),
    setAt(nowMs - 3000, { isfull: 1 }),
    setAt(nowMs - 4000, { queued: 0, deleted: 0 }),
    setAt(nowMs - 5000),
  ];
  const site = { ...ROW, errors: 1234, heard_ms: nowMs - 300_000, paused: false, sets };
  overview = { ...overview, providers: 2, sites: [site, { ...ROW, pid: 8, left_alone_until_ms: nowMs + 1 }] };
  const seen = await page();
  assert.match(seen, /<a href="\/op\/providers\/7">http:\/\/a\.example\.org\/&lt;script&gt;/);
  assert.match(
    seen,
    /enabled.*5 min ago.*aria-label="5 sets, the newest at the right; 1 of all of the site, 1 with/,
  );
  assert.deepEqual(
    [...seen.matchAll(/<rect class="(\w+)" x=/g)].map(([, kind]) => kind),
    ['held', 'taking', 'full', 'none', 'set'],
  );
  assert.match(seen, /: changes; 12 new or changed, 3 unchanged, 3 removed<\/title>/);
  assert.match(seen, /href="\/op\/providers\/7\/errors">1,234<\/a>/);
  assert.match(seen, /paused.*never.*none yet/);
  assert.doesNotMatch(seen, /Add a site|<svg role="img" aria-labelledby|<script src="[^"]*(?:uplot|graphs)/);
  assert.deepEqual((JSON.parse((await ask('/api/v1/op')).body) as RsOverview).sites, overview.sites);
  const list = await page('/op/providers');
  assert.match(list, /a\.example\.org.*Files.*Add a site/);
  assert.match(await page('/op/graphs'), /Urls that wait, by age.*The last|The last.*Urls that wait, by age/);
});

test('the page of a provider is called by its site, and has its sets, its errors, and its terms to be changed', async () => {
  const page = async (path = '') => (await ask(`/op/providers/7${path}`)).body.replace(/\s+/g, ' ');
  assert.match(await page(), /No set of it was taken yet.*Nobody has decided or changed anything here/);
  const sets = Array.from({ length: 30 }, (_, i) => setAt(scene.clock.nowMs() - i * 60_000));
  standing = { sets, errors: [{ code: 404, errors: 3 }], nurlerrs: 3, filesmax: 5, bandwidth: 0 };
  const seen = await page();
  assert.match(
    seen,
    /<title>http:\/\/a\/ · .*<h1 class="address">http:\/\/a\/<\/h1>.*Provider 7, added by an operator/,
  );
  assert.match(seen, /Its last sets.*30 lists, the newest first/);
  assert.match(seen, /providers\/7\/errors\?code=404">3<.*HTTP status 404/);
  assert.equal(seen.match(/ id="reason"/g)?.length, 1);
  errors = [
    { errseq: 1, code: 404, curl: 'http://a/<b>', mimetype: 'text/html', text: 'Not Found' },
    { errseq: 2, code: 602, curl: 'http://a/c', mimetype: 'text/html', text: 'refused' },
  ];
  assert.match(await page('/errors'), /Errors of http:\/\/a\/.*http:\/\/a\/&lt;b&gt;.*http:\/\/a\/c/);
  assert.doesNotMatch(await page('/errors?code=404'), /http:\/\/a\/c/);
  const told = JSON.parse((await ask('/api/v1/op/providers/7/errors')).body) as object;
  assert.deepEqual(told, { errors, next: null });

  const post = (form: Record<string, string>) => ask('/op/providers/7/limits', { form });
  assert.match((await post({ reason: 'why' })).body, /No term is given/);
  const unreasoned = await post({ filesmax: '9' });
  assert.match(
    unreasoned.body,
    /<a href="#terms-reason">The reason is missing[^]*<details open>[^]*value="9"/,
  );
  const above = await post({ filesmax: '1000001', reason: 'why' });
  assert.deepEqual([above.status, /<a href="#filesmax">/.test(above.body)], [400, true]);
  standing = { ...standing, filesmax: 2_000_000 };
  assert.equal((await post({ filesmax: '1000001', bandwidth: '0', reason: 'why' })).status, 303);
  const json = { spacemax: '5GB', reason: 'a program' };
  assert.equal((await ask('/api/v1/op/providers/7/limits', { json })).status, 202);
  assert.deepEqual(
    scene.db.outbox.waiting(9).map(({ change }) => change),
    [
      { op: 'limits', pid: 7, filesmax: 1_000_001, bandwidth: 0 },
      { op: 'limits', pid: 7, spacemax: 5 * 2 ** 30 },
    ],
  );
  assert.match(scene.db.audit.page(2)[1]?.detail ?? '', /^ada: why \{"filesmax":1000001,"bandwidth":0\}$/);
});

test('a Queue Manager that hangs is said on each page and in the API, however young what was seen of it is', async () => {
  overview = overviewAt(scene.clock.nowMs());
  for (const path of ['/op', '/op/graphs', '/op/queue', '/op/daemons', '/api/v1/op', '/api/v1/op/queue']) {
    isSilent = false;
    assert.doesNotMatch((await ask(path)).body, /does not answer/, path);
    isSilent = true;
    const { body } = await ask(path);
    assert.match(body, /lccd-qm does not answer/, path);
    assert.doesNotMatch(body, /All is well|All else is well/, path);
  }
});
