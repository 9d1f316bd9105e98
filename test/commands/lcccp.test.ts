import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { decodePath, HOSTILE_NAMES } from '../support/hostile-names.js';
import {
  arrives,
  daemon,
  home,
  lcccp,
  UNSENT,
  makeSite,
  passwords,
  receiver,
  run,
  url,
  forget,
} from '../support/lcccp.js';
import { homeEnv, runBin, runProgramLater } from '../support/command.js';
import { ROOT } from '../support/tree.js';
import { SITE } from '../support/uns.js';

test('an accepted set reaches the Queue Manager and commits the state in the pipe', async () => {
  const site = makeSite(url('a.html'), url('b.html'));
  const done = await lcccp(1, site.first);
  assert.equal(done.status, 0, done.stderr);
  assert.equal(done.stdout, '');
  assert.match(done.stderr, /^lcccp: connection 1, the first\n/);
  assert.match(done.stderr, /partial set of 2 urls sent, 2 accepted\n$/);
  assert.deepEqual(site.files(), ['state.txt']);
  assert.deepEqual(await arrives(), { set: 'partial', urlprefix: SITE, curls: ['a.html', 'b.html'] });
});

test('nothing to send: parts in good order, sends no set', async () => {
  const site = makeSite(url('a.html'));
  await lcccp(1, site.first);
  await arrives();
  await forget();
  const done = await lcccp(1, site.told([url('a.html')]), ['-q']);
  assert.deepEqual(done, { status: 0, stdout: '', stderr: '' });
  assert.equal(receiver.sets.length, 0);
  assert.deepEqual(home.spooled('tmp'), []);
});

test('how many errors of earlier fetches are not shown is said', async () => {
  const { status, stdout, stderr } = await lcccp(8, '<?lcc from="x"?>\n<?lcc end?>\n');
  assert.equal(status, 1, stderr);
  assert.match(stdout, /curl="kept"/);
  assert.match(stderr, /^lcccp: 2 more errors of earlier fetches are not shown: further runs show/m);
});

test('errors of earlier fetches appear on stdout once: they are received then', async () => {
  const error = '<url curl="a&amp;b" mimetype="text/html" len="5" code="404">Not &lt;Found&gt;</url>\n';
  const done = await lcccp(5, '');
  assert.equal(done.status, 1);
  assert.equal(done.stdout, error);
  await receiver.until(r => r.sessions.some(s => s.pid === 5 && s.errseen > 0));
});

test('--status sends nothing and prints what the UNS says', async () => {
  const done = await lcccp(3, url('not-sent'), ['--status']);
  assert.equal(done.status, 0, done.stderr);
  assert.match(
    done.stdout,
    /^connection 1, the first\nmimetypes accepted: \*\/\*\nfiles: 0 used, 1000000 free\n/,
  );
  assert.match(done.stdout, /\nfull sets: 3 left; one is wanted \(old files\)\n/);
  assert.equal(done.stderr, '');
  assert.equal(receiver.sets.length, 0);
});

test('passwords come from option, file or environment; a wrong one is exit 77 and never shown', async () => {
  const file = join(home.dir, 'pwd');
  writeFileSync(file, `${passwords[1]}\n`, { mode: 0o600 });
  for (const args of [[`--pwdfile=${file}`], [`--pwd=${passwords[1]}`]])
    assert.equal((await lcccp(1, '', args, { LCC_PWD: 'wrong' })).status, 0);
  const wrong = await lcccp(1, '', [], { LCC_PWD: 'very-wrong' });
  assert.equal(wrong.status, 77);
  assert.doesNotMatch(wrong.stderr, /very-wrong/);
  assert.match(wrong.stderr, /\(code 101\); compare --pid and the password/);
  assert.equal((await lcccp(99, '', [], { LCC_PWD: 'x' })).status, 77);
  assert.equal((await lcccp(1, '', [], { LCC_PWD: undefined })).status, 64);
  assert.equal((await lcccp(1, '', ['--pwdfile=/nonexistent'])).status, 66);
});

test('the one-shot dialect is taken from stdin with its provider, kind of set and prefix', async () => {
  const doc = `<lococa:notify>
    <init><provider id="1" password="${passwords[1]}"/></init>
    <set set="partial" urlprefix="${SITE}">
      <url c="a&amp;b.html" b="" mtime="20020603120000" mimetype="text/html"/>
    </set></lococa:notify>`;
  const done = await run('lcccp', [`--uns=127.0.0.1:${daemon.port}`], doc, {
    LCC_PWD: undefined,
  });
  assert.equal(done.status, 0, done.stderr);
  assert.deepEqual(await arrives(), { set: 'partial', urlprefix: SITE, curls: ['a&b.html'] });
});

test('--dry-run connects to nobody and prints the set that would be sent', async () => {
  const site = makeSite(url('a.html'));
  const done = await run('lcccp', ['--dry-run', '--urlprefix=http://h/'], site.first, {});
  assert.equal(done.status, 0);
  assert.equal(
    done.stdout,
    `<lococa:set xmlns:lococa="http://www.lococa.org/1.0" set="partial" urlprefix="http://h/">\n${url('a.html')}\n</lococa:set>\n`,
  );
  // The next run need not ask what became of it.
  assert.deepEqual(site.files(), UNSENT);
  assert.equal((await run('lcccp', ['--dry-run'], site.first.slice(0, -12), {})).status, 65);
  const next = runBin('lcccpstate', [`--statefile=${site.state}`], { input: `${url('a.html')}\n` });
  assert.doesNotMatch(next.stderr, /not known/);
});

test('hostile names arrive at the Queue Manager as the bytes they are', async () => {
  const dir = join(home.dir, 'hostile');
  mkdirSync(dir);
  for (const name of HOSTILE_NAMES) writeFileSync(Buffer.from(`${dir}/${name}`, 'latin1'), 'x');
  const line = `cd "$1" && "$2/file2url" --md5 --find . -type f | "$2/lcccpstate" --statefile="$3" |
    "$2/lcccp" --uns=127.0.0.1:${daemon.port} --pid=1 --urlprefix=${SITE}`;
  const state = join(home.dir, 'hostile.txt');
  const done = await runProgramLater(
    'bash',
    ['-o', 'pipefail', '-c', line, 'bash', dir, join(ROOT, 'bin'), state],
    { env: homeEnv(home.dir, { LCC_PWD: passwords[1] }) },
  );
  assert.equal(done.status, 0, done.stderr);
  assert.deepEqual((await arrives(1)).curls.map(decodePath).sort(), [...HOSTILE_NAMES].sort());
  assert.ok(statSync(state).size > 0);
  rmSync(dir, { recursive: true });
});

test('a directory as standard input is exit 66', () => {
  const done = spawnSync('bash', ['-c', '"$0" --dry-run < /', join(ROOT, 'bin/lcccp')]);
  assert.equal(done.status, 66);
  assert.equal(done.stderr.toString(), 'lcccp: standard input is a directory\n');
});

test('what cannot be meant is a usage error', async () => {
  for (const args of [
    ['--set=half'],
    ['--urlprefix=www.example.org'],
    ['--timeout=0'],
    ['--uns=a:b:c'],
    ['--pwd=x', '--pwdfile=y'],
    ['--dry-run', '--status'],
  ])
    assert.equal((await lcccp(1, '', args)).status, 64, args.join(' '));
  assert.equal((await run('lcccp', [], '', {})).status, 64);
});

test('a password file that cannot be read is exit 66, a provider that is no number 64', async () => {
  const directory = await lcccp(1, '', [`--pwdfile=${home.dir}`]);
  assert.equal(directory.status, 66);
  assert.match(directory.stderr, /^lcccp: --pwdfile .*: it is a directory; name a file\n$/);
  assert.equal((await lcccp(1, '', ['--pid=abc'])).status, 64);
});

test('a password file that all users may read is reported, and used', async () => {
  const file = join(home.dir, 'open.pwd');
  writeFileSync(file, `${passwords[1]}\n`);
  for (const [mode, stderr] of [
    [0o644, `lcccp: ${file}: other users may read this password; chmod 600 ${file}\n`],
    [0o640, ''],
  ] as const) {
    chmodSync(file, mode);
    const done = await lcccp(1, '', [`--pwdfile=${file}`]);
    assert.equal(done.status, 0);
    assert.equal(
      done.stderr
        .split(/(?<=\n)/)
        .filter(line => line.includes(file))
        .join(''),
      stderr,
    );
  }
});

test('a password file without end is refused at once, with status 78', async () => {
  const endless = await lcccp(1, '', ['--pwdfile=/dev/zero']);
  assert.equal(endless.status, 78);
  assert.match(endless.stderr, /\/dev\/zero: its first line is no password, it has more than 4096 bytes; /);
});

test('-v says what is done', async () => {
  const site = makeSite(url('a.html'));
  const { stderr } = await lcccp(6, site.first, ['-v']);
  assert.match(stderr, /^lcccp: connects to 127\.0\.0\.1:\d+\n/);
  assert.match(
    stderr,
    /\nlcccp: sends a partial set\nlcccp: sends the end of the set, and waits for the answer\nlcccp: partial set of 1 url sent, 1 accepted\nlcccp: the state was kept\n$/,
  );
  await arrives(6);
});
