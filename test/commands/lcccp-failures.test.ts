import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runAsProcesses, type Done } from '../support/command.js';
import {
  arrives,
  daemon,
  home,
  lcccp,
  makeSite,
  passwords,
  receiver,
  UNSENT,
  url,
  forget,
} from '../support/lcccp.js';
import { ROOT } from '../support/tree.js';
import { SITE } from '../support/uns.js';

runAsProcesses();

test('rejected urls appear on stdout with code and message, exit 1; the rest is accepted', async () => {
  const done = await lcccp(
    1,
    `${url('ok.html')}<url curl="http://elsewhere.example.org/" mimetype="text/html" note="x"/><url curl="b"/>`,
  );
  assert.equal(done.status, 1);
  assert.match(
    done.stdout,
    /^<url curl="http:\/\/elsewhere\.example\.org\/" mimetype="text\/html" code="304" note="x">[^<]+<\/url>\n<url curl="b" code="302">[^<]+<\/url>\n$/,
  );
  assert.deepEqual((await arrives()).curls, ['ok.html']);
});

test('when every url was rejected the state is not kept, and the corrected run sends them all', async () => {
  const site = makeSite(url('a.html'), url('b.html'));
  const wrong = await lcccp(1, site.first, ['--urlprefix=http://elsewhere.example.org/']);
  assert.equal(wrong.status, 65);
  assert.match(
    wrong.stderr,
    /lcccp: with urlprefix http:\/\/elsewhere\.example\.org\/ all 2 urls were rejected: the state was not kept, the next run sends them again\n$/,
  );
  assert.equal(wrong.stdout.match(/code="304"/g)?.length, 2);
  assert.deepEqual(site.files(), UNSENT);
  await forget();
  const right = await lcccp(1, site.told([url('a.html'), url('b.html')]));
  assert.equal(right.status, 0, right.stderr);
  assert.deepEqual((await arrives()).curls, ['a.html', 'b.html']);
  assert.deepEqual(site.files(), ['state.txt']);
});

test('a removal, which the LCC takes of any url, does not hide that every other url was rejected', async () => {
  const [keep, gone, fresh] = ['keep.html', 'gone.html', 'fresh.html'].map(name => url(name));
  const site = makeSite(keep!, gone!);
  assert.equal((await lcccp(1, site.first)).status, 0);
  // A state of an earlier release: with the note of its prefix nothing would be sent.
  rmSync(`${site.state}.urlprefix`);
  // That of a url that is too long is rejected, too.
  for (const [tail, rejected] of [
    ['', 1],
    [`${'x'.repeat(8200)}/`, 2],
  ] as const) {
    const prefix = `--urlprefix=http://elsewhere.example.org/${tail}`;
    const wrong = await lcccp(1, site.told([keep!, fresh!]), [prefix]);
    assert.equal(wrong.status, 65, wrong.stderr);
    assert.match(wrong.stderr, new RegExp(`all ${rejected} urls were rejected: the state was not kept`));
  }
  assert.match(site.files().join(' '), /unsent/);
  await forget();
  const right = await lcccp(1, site.told([keep!, fresh!]));
  assert.equal(right.status, 0, right.stderr);
  assert.deepEqual((await arrives()).curls.toSorted(), ['fresh.html', 'gone.html']);
  assert.deepEqual(site.files(), ['state.txt']);
});

/** lcccp of provider 9, with a standard output that takes nothing. */
async function unheard(output: 'full' | 'gone', input: string, args: string[] = []): Promise<Done> {
  const full = openSync('/dev/full', 'w');
  const child = spawn(
    join(ROOT, 'bin/lcccp'),
    [`--uns=127.0.0.1:${daemon.port}`, '--pid=9', `--urlprefix=${SITE}`, '-q', ...args],
    {
      stdio: ['pipe', output === 'full' ? full : 'pipe', 'pipe'],
      env: { ...process.env, LCC_HOME: home.dir, LCC_CONFIG: '', LCC_PWD: passwords[9] },
    },
  );
  child.stdout?.destroy();
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', text => (stderr += text));
  child.stdin?.on('error', () => undefined).end(input);
  const [status] = (await once(child, 'close')) as [number | null];
  closeSync(full);
  return { status, stdout: '', stderr };
}

test('errors that cannot be written are not received, and nothing is sent or committed', async () => {
  const site = makeSite(url('a.html'));
  for (const output of ['full', 'gone'] as const) {
    for (const args of [['--status'], []]) {
      const done = await unheard(output, args.length > 0 ? '' : site.first, args);
      assert.equal(done.status, 74, `${output} ${args.join()}: ${done.stderr}`);
      assert.match(done.stderr, /^lcccp: cannot write standard output: [^\n]*\n$/);
    }
    // Errors of the set itself, before its end.
    const bad = await unheard(output, url('http://elsewhere.example/'));
    assert.equal(bad.status, 74, bad.stderr);
  }
  assert.deepEqual(site.files(), UNSENT);
  assert.equal(receiver.sets.filter(({ head }) => head.pid === 9).length, 0);
  const heard = await lcccp(9, site.first);
  assert.equal(heard.status, 1, heard.stderr);
  assert.match(heard.stdout, /^<url curl="lost" [^\n]*code="404">Not Found<\/url>\n$/);
  assert.deepEqual(site.files(), ['state.txt']);
  await arrives(9);
  const again = await lcccp(9, '', ['--status']);
  assert.match(again.stdout, /\nerrors of earlier fetches: 0\n$/);
});

test('a run overtaken by another between lcccpstate and lcccp is exit 75, and says so', async () => {
  for (const args of [[], ['--set=full']]) {
    const site = makeSite(url('a.html'));
    site.told([url('a.html')], ['--commit']);
    const done = await lcccp(1, site.first, ['-q', ...args]);
    assert.equal(done.status, 75, done.stderr);
    assert.match(done.stderr, /^lcccp: [^\n]*state\.txt: another run was faster; nothing was sent[^\n]*\n$/);
  }
  assert.equal(receiver.sets.length, 0);
});

test('a cut or malformed input is never ended: nothing accepted, nothing committed, the next run sends it all', async () => {
  const site = makeSite(url('a.html'), url('b.html'));
  for (const [input, status, message] of [
    [site.first.replace('<?lcc end?>\n', ''), 65, /stream was cut/],
    [site.first.slice(0, -30), 65, /cut/],
    [site.first.replace('curl="b.html"', 'curl=b.html'), 65, /standard input:3:\d+/],
  ] as const) {
    const done = await lcccp(1, input);
    assert.equal(done.status, status);
    assert.match(done.stderr, message);
    assert.deepEqual(site.files(), UNSENT);
  }
  assert.equal((await lcccp(1, site.first)).status, 0);
  assert.deepEqual((await arrives()).curls, ['a.html', 'b.html']);
  assert.equal(receiver.sets.length, 1);
});

test('commits only the state the stream named, and each in its turn', async () => {
  const site = makeSite(url('a.html'));
  const second = site.told([url('other.html')]);
  assert.match(second, /curl="a\.html" mimetype="text\/html" op="delete"/);
  const done = await lcccp(1, site.first, ['-q']);
  assert.deepEqual(done, { status: 0, stdout: '', stderr: '' });
  assert.deepEqual((await arrives()).curls, ['a.html']);
  assert.equal(readFileSync(site.state, 'utf8'), `${url('a.html')}\n`);
  assert.equal((await lcccp(1, site.first)).status, 75);
  assert.equal((await lcccp(1, second)).status, 0);
  assert.equal(readFileSync(site.state, 'utf8'), `${url('other.html')}\n`);
  assert.deepEqual(site.files(), ['state.txt']);
});

test('a set that would break the quota is refused before it is sent', async () => {
  const many = makeSite(url('a'), url('b'), url('c'));
  const files = await lcccp(2, many.first);
  assert.equal(files.status, 65);
  assert.match(files.stderr, /the site has 3 urls, the quota is 2 files \(code 202\): the set was not sent/);
  assert.deepEqual(many.files(), UNSENT);
  const large = makeSite(url('a', 60), url('b', 50));
  const space = await lcccp(2, large.first);
  assert.match(space.stderr, /the site has 110 bytes, the quota is 100 bytes \(code 203\)/);
  assert.deepEqual(large.files(), UNSENT);
  assert.equal(receiver.sets.length, 0);
  assert.deepEqual(home.spooled('tmp'), []);
});

test('nobody at the endpoint is exit 69; the pending state stays', async () => {
  const site = makeSite(url('a.html'));
  const done = await lcccp(1, site.first, ['--uns=unix:/nonexistent/uns.sock']);
  assert.equal(done.status, 69);
  assert.match(done.stderr, /^lcccp: cannot reach the UNS at unix:\/nonexistent\/uns\.sock: .*\n$/);
  assert.deepEqual(site.files(), UNSENT);
});

test('killed after the acceptance and before the commit, the next run sends the same again and commits', async () => {
  for (const step of ['cp.set.sent', 'cp.set.accepted']) {
    const site = makeSite(url('a.html'));
    // A provider of its own: how many sets come of it, and when, is not said.
    const killed = await lcccp(6, site.first, [], { LCC_CRASH_AT: step });
    assert.equal(killed.status, null, step);
    assert.ok(!existsSync(site.state));
    const done = await lcccp(6, site.told([url('a.html')]));
    assert.equal(done.status, 0);
    assert.deepEqual(site.files(), ['state.txt']);
    await arrives();
    await forget();
  }
});

test('an input without a byte is told of, -q or not: its writer may have been killed', async () => {
  const done = await lcccp(1, '', ['-q']);
  assert.equal(done.status, 0);
  assert.match(done.stderr, /^lcccp: standard input was empty, .* nothing sent; was its writer killed\?\n$/);
  assert.equal((await lcccp(1, '<?lcc from="lcccpstate"?>\n<?lcc end?>\n', ['-q'])).stderr, '');
});

test('what lcccpstate refuses is no success further down the pipe', async () => {
  const done = await lcccp(1, '<?lcc from="lcccpstate"?>\n');
  assert.equal(done.status, 65);
  assert.match(done.stderr, /the stream was cut/);
});
