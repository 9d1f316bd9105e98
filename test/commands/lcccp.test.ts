import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { decodePath, HOSTILE_NAMES } from '../support/hostile-names.js';
import { ROOT } from '../support/tree.js';
import { Home, Receiver, SITE, type Daemon } from '../support/uns.js';

const home = new Home();
const passwords: Record<number, string> = {};
let daemon: Daemon;
let receiver: Receiver;

before(async () => {
  passwords[1] = home.addProvider(1);
  passwords[2] = home.addProvider(2, { filesmax: 2, spacemax: 100 });
  passwords[3] = home.addProvider(3, {}, "UPDATE pidb SET fullsetwanted = 'old files' WHERE pid = 3");
  passwords[4] = home.addProvider(4, { fullsetsallowed: 0 });
  passwords[5] = home.addProvider(
    5,
    {},
    `INSERT INTO pierr(pid, code, text, attrs) VALUES (5, 404, 'Not <Found>', ' curl="a&amp;b" mimetype="text/html" len="5"');
     UPDATE pidb SET nurlerrs = 1 WHERE pid = 5`,
  );
  passwords[6] = home.addProvider(6);
  passwords[9] = home.addProvider(
    9,
    {},
    `INSERT INTO pierr(pid, code, text, attrs) VALUES (9, 404, 'Not Found', ' curl="lost" mimetype="text/html"');
     UPDATE pidb SET nurlerrs = 1 WHERE pid = 9`,
  );
  // The Queue Manager, which would note it, is not there.
  home.sql('UPDATE pidb SET lastset = 1');
  passwords[7] = home.addProvider(7);
  receiver = await new Receiver().listen(home.qmPath);
  daemon = await home.start();
});
after(async () => {
  await daemon.stop();
  await receiver.close();
  home.remove();
});
afterEach(() => {
  receiver.sets.length = 0;
});

interface Done {
  status: number | null;
  stdout: string;
  stderr: string;
}

/** The real lcccp against the real lccd-uns. */
async function lcccp(
  pid: number,
  input: string | Buffer,
  args: string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<Done> {
  return run(
    join(ROOT, 'bin/lcccp'),
    [`--uns=127.0.0.1:${daemon.port}`, `--pid=${pid}`, `--urlprefix=${SITE}`, ...args],
    input,
    {
      LCC_PWD: passwords[pid],
      ...env,
    },
  );
}

async function run(
  program: string,
  args: string[],
  input: string | Buffer,
  env: NodeJS.ProcessEnv,
): Promise<Done> {
  const child = spawn(program, args, { env: { ...process.env, LCC_HOME: home.dir, LCC_CONFIG: '', ...env } });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', text => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', text => (stderr += text));
  child.stdin.on('error', () => undefined).end(input);
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, stdout, stderr };
}

let sites = 0;
/** A site with a state, told by the real filters. */
function makeSite(...lines: string[]) {
  const dir = join(home.dir, `site-${sites++}`);
  mkdirSync(dir);
  const state = join(dir, 'state.txt');
  const told = (urls: readonly string[], args: string[] = []) => {
    const input = `<?lcc from="test"?>\n${urls.map(u => `${u}\n`).join('')}<?lcc end?>\n`;
    const done = spawnSync(join(ROOT, 'bin/lcccpstate'), ['-q', `--statefile=${state}`, ...args], { input });
    assert.equal(done.status, 0, done.stderr.toString());
    return done.stdout.toString();
  };
  return { state, dir, told, first: told(lines), files: () => readdirSync(dir).sort() };
}
const url = (curl: string, len = 5) => `<url curl="${curl}" mimetype="text/html" len="${len}"/>`;

/** The next set the Queue Manager gets, of the provider if one is given. */
async function arrives(pid?: number) {
  const next = () => receiver.sets.find(({ head }) => pid === undefined || head.pid === pid);
  await receiver.until(() => next() !== undefined);
  const { head, curls } = next()!;
  return { set: head.set, urlprefix: head.urlprefix, curls };
}

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
  receiver.sets.length = 0;
  const done = await lcccp(1, site.told([url('a.html')]), ['-q']);
  assert.deepEqual(done, { status: 0, stdout: '', stderr: '' });
  assert.equal(receiver.sets.length, 0);
  assert.deepEqual(home.spooled('tmp'), []);
});

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
    /all 2 urls were rejected: the state was not kept, the next run sends them again\n$/,
  );
  assert.equal(wrong.stdout.match(/code="304"/g)?.length, 2);
  assert.deepEqual(site.files(), ['state.txt.pending']);
  receiver.sets.length = 0;
  const right = await lcccp(1, site.told([url('a.html'), url('b.html')]));
  assert.equal(right.status, 0, right.stderr);
  assert.deepEqual((await arrives()).curls, ['a.html', 'b.html']);
  assert.deepEqual(site.files(), ['state.txt']);
});

test('errors of earlier fetches appear on stdout once: they are received then', async () => {
  const error = '<url curl="a&amp;b" mimetype="text/html" len="5" code="404">Not &lt;Found&gt;</url>\n';
  const done = await lcccp(5, '');
  assert.equal(done.status, 1);
  assert.equal(done.stdout, error);
  await receiver.until(r => r.sessions.some(s => s.pid === 5 && s.errseen > 0));
});

/** lcccp of provider 9 whose standard output takes nothing. */
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
  const [status] = (await once(child, 'exit')) as [number | null];
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
  assert.deepEqual(site.files(), ['state.txt.pending']);
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
    renameSync(`${site.state}.pending`, site.state);
    const done = await lcccp(1, site.first, ['-q', ...args]);
    assert.equal(done.status, 75, done.stderr);
    assert.match(done.stderr, /^lcccp: [^\n]*\.pending: another run was faster; nothing was sent[^\n]*\n$/);
  }
  assert.equal(receiver.sets.length, 0);
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

test('a full set that is wanted is sent in the same run, from the pending state', async () => {
  const site = makeSite(url('a.html'), url('b.html'), url('c.html'));
  const committed = site.told([url('a.html'), url('b.html'), url('c.html')], ['--commit-now']);
  assert.ok(committed.includes('a.html'));
  const delta = site.told([url('a.html'), url('b.html', 6), url('d.html')]);
  const done = await lcccp(3, delta);
  assert.equal(done.status, 0, done.stderr);
  assert.match(done.stderr, /full set of 3 urls sent, 3 accepted\n$/);
  assert.deepEqual(await arrives(), { set: 'full', urlprefix: SITE, curls: ['a.html', 'b.html', 'd.html'] });
  assert.match(readFileSync(site.state, 'utf8'), /d\.html/);
  assert.deepEqual(site.files(), ['state.txt']);
});

test('a full set that is wanted is sent although nothing changed, but never on the strength of a cut input', async () => {
  const site = makeSite(url('a.html'));
  site.told([url('a.html')], ['--commit-now']);
  const same = site.told([url('a.html')]);
  const cut = await lcccp(3, same.replace('<?lcc end?>\n', ''));
  assert.equal(cut.status, 65);
  assert.match(cut.stderr, /the stream was cut/);
  const done = await lcccp(3, same);
  assert.match(done.stderr, /full set of 1 urls sent, 1 accepted\n$/);
  assert.deepEqual(await arrives(), { set: 'full', urlprefix: SITE, curls: ['a.html'] });
});

test('a provider that was added again ends up whole, though its state says that all is delivered', async () => {
  const site = makeSite(url('a.html'), url('b.html'));
  site.told([url('a.html'), url('b.html')], ['--commit-now']);
  assert.equal((await lcccp(7, '', ['--status'])).status, 0);
  const cut = await lcccp(7, site.told([url('b.html'), url('c.html')]).replace('<?lcc end?>\n', ''));
  assert.equal(cut.status, 65);
  const done = await lcccp(7, site.told([url('b.html'), url('c.html')]));
  assert.equal(done.status, 0, done.stderr);
  assert.match(
    done.stderr,
    /never had a set of this provider.*\n.*partial set of 2 urls sent, 2 accepted\n$/,
  );
  assert.deepEqual(await arrives(7), { set: 'partial', urlprefix: SITE, curls: ['b.html', 'c.html'] });
  assert.deepEqual(site.files(), ['state.txt']);
  receiver.sets.length = 0;

  home.sql('UPDATE pidb SET lastset = 1 WHERE pid = 7');
  const same = await lcccp(7, site.told([url('b.html'), url('c.html')]), ['-q']);
  assert.deepEqual(same, { status: 0, stdout: '', stderr: '' });
  assert.equal(receiver.sets.length, 0);
});

test('without a state in the pipe a wanted full set is asked for', async () => {
  const done = await lcccp(3, url('x.html'), ['-q']);
  assert.equal(done.status, 0);
  assert.match(done.stderr, /^lcccp: the UNS wants a full set; send one with/);
  assert.equal((await arrives()).set, 'partial');
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
    assert.deepEqual(site.files(), ['state.txt.pending']);
  }
  assert.equal((await lcccp(1, site.first)).status, 0);
  assert.deepEqual((await arrives()).curls, ['a.html', 'b.html']);
  assert.equal(receiver.sets.length, 1);
});

test('commits only the pending state the stream named', async () => {
  const site = makeSite(url('a.html'));
  site.told([url('other.html')]);
  const done = await lcccp(1, site.first);
  assert.equal(done.status, 0);
  assert.match(done.stderr, /state was replaced by another run and not kept/);
  assert.deepEqual(site.files(), ['state.txt.pending']);
  unlinkSync(join(site.dir, 'state.txt.pending'));
  assert.equal((await lcccp(1, site.first)).status, 75);
});

test('a set that would break the quota is refused before it is sent', async () => {
  const many = makeSite(url('a'), url('b'), url('c'));
  const files = await lcccp(2, many.first);
  assert.equal(files.status, 65);
  assert.match(files.stderr, /the site has 3 urls, the quota is 2 files \(code 202\): the set was not sent/);
  const large = makeSite(url('a', 60), url('b', 50));
  const space = await lcccp(2, large.first);
  assert.match(space.stderr, /the site has 110 bytes, the quota is 100 bytes \(code 203\)/);
  assert.deepEqual(large.files(), ['state.txt.pending']);
  assert.equal(receiver.sets.length, 0);
  assert.deepEqual(home.spooled('tmp'), []);
});

test('a full set without ration is refused before it is sent', async () => {
  const done = await lcccp(4, url('a.html'), ['--set=full']);
  assert.equal(done.status, 69);
  assert.match(done.stderr, /no full sets are left for now \(code 201\)/);
});

test('--set=full with changes on the input sends the whole pending state, or nothing', async () => {
  const site = makeSite(url('a.html'), url('b.html'));
  site.told([url('a.html'), url('b.html')], ['--commit-now']);
  const done = await lcccp(1, site.told([url('a.html'), url('b.html'), url('c.html')]), ['--set=full']);
  assert.equal(done.status, 0, done.stderr);
  assert.deepEqual(await arrives(), { set: 'full', urlprefix: SITE, curls: ['a.html', 'b.html', 'c.html'] });
  const lone = site.told([url('a.html')], ['--commit-now', '--max-delete=100%']);
  assert.equal((await lcccp(1, lone, ['--set=full'])).status, 64);
  assert.equal((await lcccp(1, site.told([url('a.html')], ['--full']), ['--set=partial'])).status, 64);
});

test('passwords come from option, file or environment; a wrong one is exit 77 and never shown', async () => {
  const file = join(home.dir, 'pwd');
  writeFileSync(file, `${passwords[1]}\n`, { mode: 0o600 });
  for (const args of [[`--pwdfile=${file}`], [`--pwd=${passwords[1]}`]])
    assert.equal((await lcccp(1, '', args, { LCC_PWD: 'wrong' })).status, 0);
  const wrong = await lcccp(1, '', [], { LCC_PWD: 'very-wrong' });
  assert.equal(wrong.status, 77);
  assert.doesNotMatch(wrong.stderr, /very-wrong/);
  assert.match(wrong.stderr, /code 101/);
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
  const done = await run(join(ROOT, 'bin/lcccp'), [`--uns=127.0.0.1:${daemon.port}`], doc, {
    LCC_PWD: undefined,
  });
  assert.equal(done.status, 0, done.stderr);
  assert.deepEqual(await arrives(), { set: 'partial', urlprefix: SITE, curls: ['a&b.html'] });
});

test('--dry-run connects to nobody and prints the set that would be sent', async () => {
  const site = makeSite(url('a.html'));
  const done = await run(join(ROOT, 'bin/lcccp'), ['--dry-run', '--urlprefix=http://h/'], site.first, {});
  assert.equal(done.status, 0);
  assert.equal(
    done.stdout,
    `<lococa:set xmlns:lococa="http://www.lococa.org/1.0" set="partial" urlprefix="http://h/">\n${url('a.html')}\n</lococa:set>\n`,
  );
  assert.deepEqual(site.files(), ['state.txt.pending']);
  assert.equal((await run(join(ROOT, 'bin/lcccp'), ['--dry-run'], site.first.slice(0, -12), {})).status, 65);
});

test('nobody at the endpoint is exit 69; the pending state stays', async () => {
  const site = makeSite(url('a.html'));
  const done = await lcccp(1, site.first, ['--uns=unix:/nonexistent/uns.sock']);
  assert.equal(done.status, 69);
  assert.match(done.stderr, /^lcccp: cannot reach the UNS at unix:\/nonexistent\/uns\.sock: .*\n$/);
  assert.deepEqual(site.files(), ['state.txt.pending']);
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
    receiver.sets.length = 0;
  }
});

test('hostile names arrive at the Queue Manager as the bytes they are', async () => {
  const dir = join(home.dir, 'hostile');
  mkdirSync(dir);
  for (const name of HOSTILE_NAMES) writeFileSync(Buffer.from(`${dir}/${name}`, 'latin1'), 'x');
  const line = `cd "$1" && "$2/file2url" --md5 --find . -type f | "$2/lcccpstate" --statefile="$3" |
    "$2/lcccp" --uns=127.0.0.1:${daemon.port} --pid=1 --urlprefix=${SITE}`;
  const state = join(home.dir, 'hostile.txt');
  const done = await run('bash', ['-o', 'pipefail', '-c', line, 'bash', dir, join(ROOT, 'bin'), state], '', {
    LCC_PWD: passwords[1],
  });
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
  ])
    assert.equal((await lcccp(1, '', args)).status, 64, args.join(' '));
  assert.equal((await run(join(ROOT, 'bin/lcccp'), [], '', {})).status, 64);
});

test('a full set without a url is refused unless told: a failure upstream must not empty the LCC', async () => {
  for (const nothing of ['', '<urls/>']) {
    const done = await lcccp(1, nothing, ['--set=full']);
    assert.equal(done.status, 65);
    assert.match(done.stderr, /a full set without a url would remove everything that is held; --allow-empty/);
  }
  assert.equal(receiver.sets.length, 0);
  assert.equal((await lcccp(1, '', ['--set=full', '--allow-empty'])).status, 0);
  assert.deepEqual(await arrives(), { set: 'full', urlprefix: SITE, curls: [] });
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

test('a password file that cannot be read is exit 66, a provider that is no number 64', async () => {
  const directory = await lcccp(1, '', [`--pwdfile=${home.dir}`]);
  assert.equal(directory.status, 66);
  assert.match(directory.stderr, /--pwdfile .*: EISDIR; it cannot be read/);
  assert.equal((await lcccp(1, '', ['--pid=abc'])).status, 64);
});
