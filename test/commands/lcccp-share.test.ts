import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { arrives, DOUBTFUL, forget, home, lcccp, makeSite, receiver, url } from '../support/lcccp.js';
import { runBin } from '../support/command.js';
import { SITE } from '../support/uns.js';

const wish = (pid: number, reason: string | null) =>
  home.sql(`UPDATE pidb SET fullsetwanted = ${reason === null ? 'NULL' : `'${reason}'`} WHERE pid = ${pid}`);

/** What lcccpstate makes of a list for a statefile beside another. */
function beside(dir: string, name: string, urls: readonly string[], begin = '', args: string[] = []): string {
  const input = `<?lcc from="test"${begin}?>\n${urls.map(u => `${u}\n`).join('')}<?lcc end?>\n`;
  const done = runBin('lcccpstate', ['-q', `--statefile=${join(dir, name)}`, ...args], { input });
  assert.equal(done.status, 0, done.stderr);
  return done.stdout.toString();
}

test('two pipes, one provider: a wanted full set is answered by all of each, as partial sets, once', async () => {
  const pid = DOUBTFUL[30] ?? NaN;
  const site = makeSite(url('a.html'), url('b.html'));
  const feed = (...urls: string[]) => beside(site.dir, 'feed.state', urls, ' set="partial"');
  assert.equal((await lcccp(pid, site.told([url('a.html'), url('b.html')]))).status, 0);
  assert.equal((await lcccp(pid, feed(url('new.html')))).status, 0);
  await forget();
  wish(pid, 'a restore');
  for (const [stream, curls] of [
    [() => site.told([url('b.html'), url('c.html')]), ['b.html', 'c.html']],
    [() => feed(url('newer.html')), ['new.html', 'newer.html']],
  ] as const) {
    const done = await lcccp(pid, stream(), ['-q']);
    assert.equal(done.status, 0, done.stderr);
    assert.match(
      done.stderr,
      /the UNS wants a full set; (?:feed\.state|state\.txt) beside this state announces for provider \d+, too: /,
    );
    assert.deepEqual(await arrives(pid), { set: 'partial', urlprefix: SITE, curls });
    await forget();
    const again = await lcccp(pid, stream());
    assert.match(again.stderr, /nothing to send/);
    assert.equal(receiver.sets.length, 0);
  }
  for (const [stream, args] of [
    [site.told([url('b.html')]), ['--set=full']],
    [site.told([url('b.html')], ['--full']), []],
  ] as const) {
    const refused = await lcccp(pid, stream, [...args]);
    assert.match(refused.stderr, /feed\.state beside this state announces for provider .* sort -u FILE/);
    assert.equal(refused.status, args.length > 0 ? 64 : 65);
  }
  assert.equal(receiver.sets.length, 0);
  // All states as one are the whole of it.
  const all = [site.state, join(site.dir, 'feed.state')].map(path => readFileSync(path, 'utf8')).join('');
  assert.equal((await lcccp(pid, all, ['--set=full'])).status, 0);
  assert.equal((await arrives(pid)).set, 'full');
  await forget();
  // The next wish is answered again.
  wish(pid, null);
  await lcccp(pid, site.told([url('b.html'), url('c.html')]));
  wish(pid, 'another');
  await lcccp(pid, site.told([url('b.html'), url('c.html')]));
  assert.deepEqual((await arrives(pid)).curls, ['b.html', 'c.html']);
});

test('pipes on several machines say so: --share, and lists that never name all', async () => {
  const pid = DOUBTFUL[31] ?? NaN;
  for (const [name, begin, args] of [
    ['shared', '', ['--share']],
    ['feed', ' set="partial"', []],
  ] as const) {
    const dir = join(home.dir, `apart-${name}`);
    mkdirSync(dir);
    const stream = (...urls: string[]) => beside(dir, name, urls, begin, [...args]);
    assert.match(stream(url('a.html')), / share="yes"\?>/);
    assert.equal((await lcccp(pid, stream(url('a.html')))).status, 0);
    await forget();
    wish(pid, 'a restore');
    await lcccp(pid, stream(url('a.html')));
    assert.deepEqual(await arrives(pid), { set: 'partial', urlprefix: SITE, curls: ['a.html'] });
    await forget();
    wish(pid, null);
    const full = runBin('lcccpstate', [`--statefile=${join(dir, name)}`, '--full', ...args], {
      input: `<?lcc${begin}?>\n${url('a.html')}\n<?lcc end?>\n`,
    });
    assert.equal(full.status, 65);
    assert.match(full.stderr, /--full: other pipes or earlier lists/);
  }
});

test('an older state, restored with its site in whatever way, is noticed and heals by itself', async () => {
  const pid = DOUBTFUL[32] ?? NaN;
  const site = makeSite(url('a.html', 1), url('b.html'));
  const old = [url('a.html', 1), url('b.html')];
  const backup = join(home.dir, 'backup');
  assert.equal((await lcccp(pid, site.told(old))).status, 0);
  cpSync(site.dir, backup, { recursive: true, preserveTimestamps: true });
  const ways: (() => void)[] = [
    // All that lies there.
    () => cpSync(backup, site.dir, { recursive: true, preserveTimestamps: true }),
    // The state alone, into the file that is there.
    () => writeFileSync(site.state, readFileSync(join(backup, 'state.txt'))),
    // As another file.
    () => {
      cpSync(join(backup, 'state.txt'), join(site.dir, 'restored'), { preserveTimestamps: true });
      renameSync(join(site.dir, 'restored'), site.state);
    },
    // Lost, or removed to send all again: what is gone since must go.
    () => rmSync(site.state),
  ];
  for (const restore of ways) {
    const newer = await lcccp(pid, site.told([url('a.html', 2), url('c.html')]));
    assert.equal(newer.status, 0, newer.stderr);
    await arrives(pid);
    restore();
    await forget();
    const healed = await lcccp(pid, site.told(old), ['-q']);
    assert.match(
      healed.stderr,
      /^lcccp: the statefile is not the one that the last run left: .*; a full set was sent\n$/,
    );
    assert.deepEqual(await arrives(pid), { set: 'full', urlprefix: SITE, curls: ['a.html', 'b.html'] });
    await forget();
    assert.deepEqual(await lcccp(pid, site.told(old), ['-q']), { status: 0, stdout: '', stderr: '' });
  }
  // Without a ration it is noticed until there is one.
  await lcccp(pid, site.told([url('a.html', 2)], ['--max-delete=100%']));
  ways[1]?.();
  home.sql(`UPDATE pidb SET fullsetsallowed = 0 WHERE pid = ${pid}`);
  for (let run = 0; run < 2; run++)
    assert.match(
      (await lcccp(pid, site.told(old), ['-q'])).stderr,
      /put back or replaced; send all with lcccpstate --full/,
    );
  home.sql(`UPDATE pidb SET fullsetsallowed = 5 WHERE pid = ${pid}`);
  assert.match((await lcccp(pid, site.told(old), ['-q'])).stderr, /a full set was sent/);
});

test('a state that was put into another folder without the others stays a share: all of it is sent, and nothing of them removed', async () => {
  const pid = DOUBTFUL[34] ?? NaN;
  const site = makeSite(url('a.html'));
  assert.equal((await lcccp(pid, site.first)).status, 0);
  assert.equal((await lcccp(pid, beside(site.dir, 'other.state', [url('b.html')]))).status, 0);
  assert.equal((await lcccp(pid, site.told([url('a.html', 6)]))).status, 0);
  const there = join(site.dir, 'moved');
  mkdirSync(there);
  for (const end of ['', '.uns', '.urlprefix']) cpSync(`${site.state}${end}`, join(there, `state.txt${end}`));
  await forget();
  const moved = await lcccp(pid, beside(there, 'state.txt', [url('a.html', 6)]));
  assert.equal(moved.status, 0, moved.stderr);
  assert.match(
    moved.stderr,
    /put back or replaced; all of it was sent, and nothing removed, for the states that were beside this one in /,
  );
  assert.deepEqual(await arrives(pid), { set: 'partial', urlprefix: SITE, curls: ['a.html'] });
  // Also later, where a full set is wanted.
  await forget();
  wish(pid, 'a restore');
  const wanted = await lcccp(pid, beside(there, 'state.txt', [url('a.html', 6)]));
  assert.equal(wanted.status, 0, wanted.stderr);
  assert.equal((await arrives(pid)).set, 'partial');
  const full = await lcccp(pid, beside(there, 'state.txt', [url('a.html', 6)], '', ['--full']));
  assert.equal(full.status, 65);
  assert.match(full.stderr, /where they have one urlprefix/);
});
