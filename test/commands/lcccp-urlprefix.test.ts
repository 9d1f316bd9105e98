/** The prefix of relative urls: a wrong one is noticed before anything is sent, also inside the roots of the provider. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { test } from 'node:test';
import { arrives, DOUBTFUL, forget, lcccp, makeSite, receiver, run, UNSENT, url } from '../support/lcccp.js';
import { SITE } from '../support/uns.js';

const INSIDE = `${SITE}en/`;

test('changes under another urlprefix than the state was accepted with are refused before anything is sent, in one line with both', async () => {
  const site = makeSite(url('a.html'), url('b.html'));
  assert.equal((await lcccp(1, site.first)).status, 0);
  assert.equal(readFileSync(`${site.state}.urlprefix`, 'utf8'), `${SITE}\n`);
  await arrives(1);
  await forget();
  const changed = [url('a.html', 6), url('b.html')];
  const stream = site.told(changed);
  for (const [prefix, shown] of [
    [INSIDE, INSIDE],
    ['http:', 'http:'],
  ] as const) {
    const wrong = await lcccp(1, stream, ['-q', `--urlprefix=${prefix}`]);
    assert.equal(wrong.status, 65);
    assert.equal(
      wrong.stderr,
      `lcccp: ${site.state}: --urlprefix was ${SITE} when it was last accepted, and is ${shown} now: nothing was sent; ` +
        'correct it, or if this one is right (the site has moved, or the former was wrong), send all of it, once, with lcccpstate --full\n',
    );
    assert.deepEqual(site.files(), ['state.txt', ...UNSENT]);
  }
  assert.equal(receiver.sets.length, 0);
  const right = await lcccp(1, site.told(changed));
  assert.equal(right.status, 0, right.stderr);
  assert.deepEqual((await arrives(1)).curls, ['a.html']);
});

test('a site that has moved sends all of it, once, as a full set, and its changes under the new urlprefix from then on', async () => {
  const site = makeSite(url('a.html'), url('b.html'));
  assert.equal((await lcccp(6, site.first)).status, 0);
  await arrives(6);
  await forget();
  const moved = [`--urlprefix=${INSIDE}`];
  const full = await lcccp(6, site.told([url('a.html'), url('b.html')], ['--full']), moved);
  assert.equal(full.status, 0, full.stderr);
  assert.ok(
    full.stderr.includes(`the urlprefix was ${SITE} until now: what is held only under that is removed`),
  );
  await arrives(6);
  await forget();
  const next = await lcccp(6, site.told([url('a.html', 6), url('b.html')]), moved);
  assert.equal(next.status, 0, next.stderr);
  assert.deepEqual(await arrives(6), { set: 'partial', urlprefix: INSIDE, curls: ['a.html'] });
  const back = await lcccp(6, site.told([url('a.html', 7), url('b.html')]));
  assert.match(back.stderr, new RegExp(`--urlprefix was ${INSIDE} when it was last accepted`));
});

test('a state of whole urls, and one that an earlier release has left, goes under any urlprefix', async () => {
  const whole = makeSite(url(`${SITE}a.html`));
  assert.equal((await lcccp(1, whole.first)).status, 0);
  const other = await lcccp(1, whole.told([url(`${SITE}a.html`, 6)]), [`--urlprefix=${INSIDE}`]);
  assert.equal(other.status, 0, other.stderr);
  const early = makeSite(url('a.html'));
  assert.equal((await lcccp(1, early.first)).status, 0);
  rmSync(`${early.state}.urlprefix`);
  const now = await lcccp(1, early.told([url('a.html', 6)]), [`--urlprefix=${INSIDE}`]);
  assert.equal(now.status, 0, now.stderr);
  assert.equal(readFileSync(`${early.state}.urlprefix`, 'utf8'), `${INSIDE}\n`);
});

test('a set that is not accepted leaves no note of its urlprefix', async () => {
  const site = makeSite(url('a.html'));
  assert.equal((await lcccp(1, site.first, ['--urlprefix=http://elsewhere.example.org/'])).status, 65);
  assert.equal(existsSync(`${site.state}.urlprefix`), false);
});

test('a urlprefix of a host alone is that of its root, but not before urls that begin with a slash', async () => {
  const host = `--urlprefix=${SITE.slice(0, -1)}`;
  const pid = DOUBTFUL[35] ?? NaN;
  for (const [input, prefix, curl] of [
    [url('a.html'), SITE, 'a.html'],
    [url('/a.html'), SITE.slice(0, -1), '/a.html'],
    [`${url(`${SITE}w.html`)}\n${url('/b.html')}`, SITE.slice(0, -1), '/b.html'],
  ] as const) {
    const shown = await run('lcccp', ['--dry-run', host], input, {});
    assert.match(shown.stdout, new RegExp(`urlprefix="${prefix}"`), input);
    await forget();
    const done = await lcccp(pid, input, [host]);
    assert.equal(done.status, 0, done.stdout + done.stderr);
    const { urlprefix, curls } = await arrives(pid);
    assert.deepEqual([urlprefix, curls.at(-1)], [prefix, curl]);
  }
});

test('the whole of a state goes under the same form of such a urlprefix as its changes did', async () => {
  for (const [n, curl] of ['a.html', '/a.html'].entries()) {
    const pid = DOUBTFUL[36 + n] ?? NaN;
    const site = makeSite(url(curl));
    const host = `--urlprefix=${SITE.slice(0, -1)}`;
    assert.equal((await lcccp(pid, site.first, [host])).status, 0);
    await arrives(pid);
    await forget();
    // Nothing changed: of the input alone nobody could tell.
    const full = await lcccp(pid, site.told([url(curl)]), [host, '--set=full']);
    assert.equal(full.status, 0, full.stderr);
    assert.equal((await arrives(pid)).urlprefix, curl.startsWith('/') ? SITE.slice(0, -1) : SITE);
  }
});

test('a urlprefix without its last slash is asked for it, with the url as it became, where that is refused', async () => {
  const site = makeSite(url('a.html'));
  const done = await lcccp(1, site.first, ['-q', '--urlprefix=http://other.example.org/docs']);
  assert.equal(done.status, 65);
  assert.match(
    done.stdout,
    /code="304">curl is outside the provider's roots: http:\/\/other\.example\.org\/docsa\.html; does the urlprefix lack its last '\/'\?<\/url>\n$/,
  );
  assert.match(done.stderr, /the next run sends them again; does the urlprefix lack its last '\/'\?\n$/);
});
