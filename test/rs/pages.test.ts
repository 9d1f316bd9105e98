/** Pages for applicants, as a browser without JavaScript asks for them. */
import assert from 'node:assert/strict';
import { after, afterEach, beforeEach, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { withoutCapability } from '../../src/rs/refused-requests.js';
import { ground } from '../web/support.js';
import { PagesScene } from './pages-support.js';
import { RsScene } from './support.js';

const on = ground({ after });
let scene: RsScene;
let pages: PagesScene;

async function start(...args: Parameters<typeof RsScene.start>): Promise<void> {
  scene = await RsScene.start(...args);
  pages = await PagesScene.start(scene, on);
}
beforeEach(() => start());
afterEach(end);

async function end(): Promise<void> {
  await pages.server.close();
  scene.close();
}
const ask: PagesScene['ask'] = (...args) => pages.ask(...args);

const register = (more: Record<string, string> = {}) =>
  ask('/base/register', { url: scene.site.urlOf('/docs/'), ...more });

/** What the page of a pair says of its state. */
const stateOf = (html: string) => /<span class="state \w+">([^<]+)<\/span>/.exec(html)?.[1];

test('a site is registered by forms and links alone, and its secrets are shown once', async () => {
  const first = await ask('/base/');
  assert.match(first.html, /<a class="button" href="\/base\/register">/);
  assert.match(
    (await ask('/base/register')).html,
    /<form class="card narrow" method="post" action="\/base\/register"/,
  );
  const made = await register();
  assert.equal(made.status, 303);
  const shown = await ask(made.location);
  assert.equal(stateOf(shown.html), 'waits for the file');
  const [, secret = '', name = ''] =
    /printf &#39;%s\\n&#39; &#39;([\w-]{27})&#39; &gt; (lcc-[0-9a-f]{20}\.txt)/.exec(
      shown.html.replaceAll("'", '&#39;'),
    ) ?? [];
  assert.notEqual(secret, '');
  const [, password = ''] = /<dt>Password<\/dt>\s*<dd class="mono">([\w-]{27})<\/dd>/.exec(shown.html) ?? [];
  assert.notEqual(password, '');
  const again = await ask(made.location);
  assert.ok(!again.html.includes(secret) && !again.html.includes(password));
  assert.match(again.html, /The secret was shown once/);

  const early = await ask(`${made.location}/check`, {});
  assert.equal(early.status, 303);
  assert.match((await ask(early.location)).html, /role="alert">\s*<h2>The file is not there \(404\)<\/h2>/);
  const soon = await ask(`${made.location}/check`, {});
  assert.equal(soon.status, 429);
  assert.match(soon.html, /A check so soon after the last one: there are 10 s between two/);
  assert.ok(Number(soon.headers['retry-after']) > 0);

  scene.site.pages.set(`/docs/${name}`, secret);
  scene.clock.byMs += 11_000;
  await ask(`${made.location}/check`, {});
  assert.equal(stateOf((await ask(made.location)).html), 'is proven, and waits for approval');
  const [waiting] = scene.db.registrations.inStates(['waiting'], 1);
  assert.ok(waiting);
  scene.transitions.approve(waiting.id, {});
  const applying = await ask(made.location);
  assert.match(applying.html, /<meta http-equiv="refresh" content="3"/);
  const [operation] = scene.db.outbox.waiting(1);
  assert.ok(operation);
  scene.transitions.settle(operation, { ok: {} }, 1);
  const done = await ask(made.location);
  assert.equal(stateOf(done.html), 'is registered');
  assert.match(
    done.html,
    /<pre[^>]*>\*\/15 \* \* \* \* PATH=.*--pid=100000 --pwdfile=\$HOME\/\.lcc-password --urlprefix=/,
  );
  assert.doesNotMatch(done.html, /http-equiv/);
});

test('the first page says what is taken: types, full sets, rate; a pair has three commands to copy', async () => {
  await end();
  await start({ 'uns.mime': ['text/*', 'application/pdf'], 'rs.fullsetsallowed': '4' });
  const facts = (await ask('/base/')).html.replace(/\s+/g, ' ');
  assert.match(facts, /<dt>Types<\/dt> <dd>text\/\*, application\/pdf<\/dd>/);
  assert.match(facts, /<dt>Full sets<\/dt> <dd>4 in 30 d, and when one is wanted<\/dd>/);
  const { location } = await ask('/base/register', { url: scene.site.urlOf('/') });
  const { html } = await ask(location);
  const commands = [...html.matchAll(/<pre[^>]*>([^<]+)</g)].map(([, text = '']) => text.split(/[ ;]/)[0]);
  assert.deepEqual(commands, ['(umask', 'printf', 'curl']);
  assert.match(html, /curl &#39;http:\/\/127\.0\.0\.1:\d+\/lcc-[0-9a-f]{20}\.txt&#39;/);
});

test('the commands come from here: the package of the build, with the line that installs it where one registers', async t => {
  const complaint = t.mock.method(console, 'error', () => undefined);
  const line = `npm install -g ${scene.options.url.replace(/\/$/, '')}/lcc-cp.tgz`;
  for (const path of ['/base/', '/base/register'])
    assert.ok(
      (await ask(path)).html.includes(
        `<pre tabindex="0" aria-label="the line that installs the commands: any machine that has Node 20.19 or later">${line}</pre>`,
      ),
      path,
    );
  const [endpoint] = pages.server.endpoints;
  assert.ok(endpoint?.kind === 'tcp');
  const answer = await fetch(`http://127.0.0.1:${endpoint.port}/base/lcc-cp.tgz`);
  assert.equal(answer.headers.get('content-type'), 'application/gzip');
  const tar = gunzipSync(Buffer.from(await answer.arrayBuffer())).toString('latin1');
  for (const name of ['package/package.json', 'package/bin/lcccp', 'package/dist/bin/file2url.cjs'])
    assert.ok(tar.includes(`${name}\0`), name);
  // The framework comes back to the answer after it has been sent.
  await ask('/base/');
  assert.equal(complaint.mock.callCount(), 0);
});

test('a wish for more than new sites get is refused at its field, with the limit', async () => {
  assert.match((await ask('/base/register')).html, /500KB; at most 1 MB\/s/);
  const { status, html } = await ask('/base/register', { url: scene.site.urlOf('/'), bandwidth: '2MB' });
  assert.equal(status, 400);
  assert.match(html, /href="#bandwidth"[^]*the limit is 1 MB\/s[^(]/);
});

test('a pair is cancelled, and what is over or unknown is a page that says so', async () => {
  const { location } = await register();
  const cancelled = await ask(`${location}/cancel`, {});
  assert.deepEqual([cancelled.status, cancelled.location], [303, '/base/cancelled']);
  assert.match((await ask(cancelled.location)).html, /The registration is cancelled/);
  for (const [path, status] of [
    [location, 410],
    ['/base/pair/0123456789abcdef0123456789abcdef', 404],
    ['/base/nothing', 404],
  ] as const) {
    const page = await ask(path);
    assert.equal(page.status, status);
    assert.match(page.html, /<html lang="en">[^]*role="alert"/);
  }
});

test('what is wrong with a field stands first, and beside the field, which keeps what was typed', async () => {
  const wrong = await register({ url: 'http://www.example.org/docs', bandwidth: '500 KB' });
  assert.equal(wrong.status, 400);
  assert.match(
    wrong.html,
    /<a href="#url">[^]*<input[^>]+id="url"[^>]+value="http:\/\/www\.example\.org\/docs"/,
  );
  assert.match(wrong.html, /aria-describedby="url-hint url-wrong"[^>]*aria-invalid/);
  assert.match(wrong.html, /id="bandwidth"[^>]+value="500 KB"/);
  assert.equal((await register({ hours: '0-99999' })).status, 400);
  assert.equal((await register({ url: `http://a/${'x'.repeat(20_000)}/` })).status, 413);
  assert.equal(scene.db.registrations.open(), 0);
});

/** Whether the script of the page is ours alone, from its own file. */
const isOwn = (html: string) =>
  html.split('<script').length === 2 &&
  /<script src="\/base\/static\/script\.js\?[0-9a-f]{12}" defer><\/script>/.test(html);

test('script in a field is text', async () => {
  const script = `"><script>alert(1)</script><img src=x onerror='alert(1)'>`;
  for (const name of ['url', 'bandwidth', 'hours']) {
    const { html } = await register({ [name]: script });
    assert.ok(isOwn(html) && !html.includes('<img'), name);
  }
  const { html } = await register({ url: scene.site.urlOf(`/${encodeURIComponent(script)}/`) });
  assert.ok(isOwn(html));
});

test('pages are framed, stored and run by nobody else, and take forms of their own only', async () => {
  const page = await ask('/base/register');
  for (const [name, value] of [
    ['content-security-policy', /default-src 'none'.*frame-ancestors 'none'/],
    ['cache-control', /no-store/],
    ['x-content-type-options', /nosniff/],
    ['referrer-policy', /same-origin/],
  ] as const)
    assert.match(String(page.headers[name]), value);
  assert.ok(isOwn(page.html));
  assert.doesNotMatch(page.html, /style=|\son\w+="/);
  const fields = { url: scene.site.urlOf('/') };
  for (const headers of [{ origin: 'http://evil.example' }, { 'sec-fetch-site': 'cross-site' }])
    assert.equal((await ask('/base/register', fields, headers)).status, 403);
  assert.equal((await ask('/base/register', fields, { origin: 'http://lcc.example.org' })).status, 303);
  for (const [file, type, part] of [
    ['style.css', /^text\/css/, /prefers-color-scheme: dark/],
    ['script.js', /^text\/javascript/, /^'use strict';/],
    ['icon.svg', /^image\/svg\+xml/, /^<svg /],
  ] as const) {
    const { headers, html } = await ask(`/base/static/${file}`);
    assert.match(String(headers['content-type']), type);
    assert.match(html, part);
  }
});

test('in mode closed there is no form, and whose help there is stands on every page', async () => {
  await pages.server.close();
  scene.close();
  await start({ 'rs.mode': 'closed', 'rs.contact': 'hostmaster@example.org' });
  const page = await ask('/base/register');
  assert.doesNotMatch(page.html, /<form/);
  assert.match(page.html, /<a href="mailto:hostmaster@example\.org">/);
  assert.match((await register()).html, /This LCC takes no new sites/);
});

test('what fails inside is logged without the capability, and not shown', async () => {
  scene.db.close();
  const { status, html } = await ask('/base/pair/0123');
  assert.equal(status, 503);
  assert.doesNotMatch(html, /database|sqlite/i);
  // As lccd-rs logs it (commands/lccd-rs).
  assert.equal(withoutCapability((pages.failed[0] as [string])[0]), '/base/pair/ID');
  scene.open();
});
