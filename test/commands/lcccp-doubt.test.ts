import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { runAsProcesses, type Done } from '../support/command.js';
import {
  arrives,
  Cutter,
  daemon,
  DOUBTFUL,
  filesBeside,
  home,
  lcccp,
  makeSite,
  passwords,
  receiver,
  SENT,
  url,
} from '../support/lcccp.js';
import { ROOT } from '../support/tree.js';
import { longIt } from '../support/long.js';
import { heldAfter, SITE } from '../support/uns.js';

runAsProcesses();

const providers = [...DOUBTFUL];
/** All that arrived, which is not forgotten from test to test as `receiver.sets` is. */
const arrived = () => receiver.all;
const held = (pid: number) => heldAfter(arrived().filter(({ head }) => head.pid === pid));
/** Resolves when the UNS holds that of a provider. */
async function holds(pid: number, expected: Record<string, string>): Promise<void> {
  await receiver.until(() => JSON.stringify(held(pid)) === JSON.stringify(expected));
}
const children: { kill: (signal: 'SIGKILL') => boolean }[] = [];
after(() => {
  for (const child of children) child.kill('SIGKILL');
});

/** lcccp that is cut off when the UNS has accepted its set. */
async function unheard(pid: number, input: string): Promise<Done> {
  const cutter = await Cutter.listen();
  const done = lcccp(pid, input, ['-q', cutter.uns]);
  await cutter.accepted;
  cutter.cut();
  return done;
}

test('a page that was accepted unheard, and is gone by the next run, is deleted: with the pipeline as it is written', async () => {
  const pid = providers.shift()!;
  const site = join(home.dir, 'docroot');
  mkdirSync(site);
  writeFileSync(join(site, 'index.html'), 'index');
  const state = join(home.dir, 'doubt-state');
  const push = (uns: string) => {
    const line = `cd "$1" && "$2/file2url" --find . -type f | "$2/lcccpstate" -q --statefile="$3" |
      "$2/lcccp" -q ${uns} --pid=${pid} --urlprefix=${SITE}`;
    const env = { ...process.env, LCC_HOME: home.dir, LCC_PWD: passwords[pid] };
    const child = spawn('bash', ['-o', 'pipefail', '-c', line, 'bash', site, join(ROOT, 'bin'), state], {
      env,
    });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    return once(child, 'close').then(([status]) => ({ status: status as number, stderr }));
  };
  const direct = `--uns=127.0.0.1:${daemon.port}`;
  assert.deepEqual(await push(direct), { status: 0, stderr: '' });
  writeFileSync(join(site, 'x.html'), 'x');
  const cutter = await Cutter.listen();
  const cut = push(cutter.uns);
  await cutter.accepted;
  cutter.cut();
  const { status, stderr } = await cut;
  assert.equal(status, 69);
  assert.match(stderr, /whether the set was accepted is not known: send it again/);
  await holds(pid, { 'index.html': '5', 'x.html': '1' });

  rmSync(join(site, 'x.html'));
  assert.deepEqual(await push(direct), { status: 0, stderr: '' });
  await holds(pid, { 'index.html': '5' });
  const sets = arrived().length;
  assert.deepEqual(await push(direct), { status: 0, stderr: '' });
  assert.equal(arrived().length, sets, 'nothing is in doubt any more');
  assert.deepEqual(
    readdirSync(home.dir).filter(name => name.startsWith('doubt-state')),
    ['doubt-state', 'doubt-state.uns', 'doubt-state.urlprefix'],
  );
});

test('a page whose change was accepted unheard, and that is as before by the next run, is sent again', async () => {
  const pid = providers.shift()!;
  const site = makeSite(url('a'), url('b'));
  await lcccp(pid, site.first);
  assert.equal((await unheard(pid, site.told([url('a', 6)]))).status, 69);
  await holds(pid, { a: '6' });
  const again = spawnSync(join(ROOT, 'bin/lcccpstate'), [`--statefile=${site.state}`], {
    input: `${url('a')}${url('b')}`,
    encoding: 'utf8',
  });
  assert.equal(
    again.stderr,
    'lcccpstate: 0 new, 0 changed, 0 deleted, 2 unchanged, 2 of these sent again: what became of them is not known\n',
  );
  assert.equal((await lcccp(pid, again.stdout)).status, 0);
  await holds(pid, { a: '5', b: '5' });
  assert.deepEqual(site.files(), ['state.txt']);
});

test('what two unheard sets named is settled by the next, also where the first run ever was unheard', async () => {
  const pid = providers.shift()!;
  const site = makeSite(url('a'), url('b'));
  await unheard(pid, site.first);
  await unheard(pid, site.told([url('c')]));
  assert.deepEqual(site.files(), [...SENT, ...SENT].sort());
  assert.equal((await lcccp(pid, site.told([url('d')]))).status, 0);
  await holds(pid, { d: '5' });
  assert.deepEqual(site.files(), ['state.txt']);
});

for (const step of ['cp.set.doubtful', 'cp.set.sent', 'cp.set.accepted'])
  longIt(
    `what a run killed at ${step} may have left is settled by the next`,
    async () => {
      const pid = providers.shift()!;
      const site = makeSite(url('a'), url('b'));
      await lcccp(pid, site.first);
      const killed = await lcccp(pid, site.told([url('a'), url('b', 6), url('x')]), [], {
        LCC_CRASH_AT: step,
      });
      assert.equal(killed.status, null);
      assert.deepEqual(site.files(), ['state.txt', ...SENT]);
      assert.equal((await lcccp(pid, site.told([url('a'), url('b')]))).status, 0);
      await holds(pid, { a: '5', b: '5' });
      assert.deepEqual(site.files(), ['state.txt']);
    },
    step === 'cp.set.sent',
  );

longIt(
  'of two runs that overlap, the older may end last: its set stays in doubt, and the next run settles it',
  async () => {
    const pid = providers.shift()!;
    const site = makeSite(url('a'));
    await lcccp(pid, site.first);
    const cutter = await Cutter.listen();
    const older = lcccp(pid, site.told([url('a'), url('old')]), [cutter.uns]);
    await cutter.accepted;
    assert.equal((await lcccp(pid, site.told([url('a'), url('new')]))).status, 0);
    await holds(pid, { a: '5', new: '5' });
    assert.deepEqual(
      site.files(),
      ['state.txt', ...SENT, 'state.txt.sent.ID.ID'],
      'that one may yet be accepted',
    );
    cutter.cut();
    assert.equal((await older).status, 69);
    assert.equal((await lcccp(pid, site.told([url('a'), url('new')]))).status, 0);
    await holds(pid, { a: '5', new: '5' });
    assert.deepEqual(site.files(), ['state.txt']);
  },
);

longIt('a run that was overtaken by a newer one, which was accepted, sends no end of its set', async () => {
  const pid = providers.shift()!;
  const site = makeSite(url('a'));
  await lcccp(pid, site.first);
  const older = spawn(
    join(ROOT, 'bin/lcccp'),
    [`--uns=127.0.0.1:${daemon.port}`, `--pid=${pid}`, `--urlprefix=${SITE}`],
    { env: { ...process.env, LCC_HOME: home.dir, LCC_PWD: passwords[pid] } },
  );
  children.push(older);
  let stderr = '';
  const greeted = new Promise<void>(resolve => {
    older.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
      if (stderr.includes('waiting to be fetched')) resolve();
    });
  });
  const stream = site.told([url('a'), url('old')]);
  const end = stream.indexOf('<?lcc end?>');
  older.stdin.write(stream.slice(0, end));
  await greeted;
  assert.equal((await lcccp(pid, site.told([url('a'), url('new')]))).status, 0);
  older.stdin.end(stream.slice(end));
  const [status] = (await once(older, 'close')) as [number];
  assert.equal(status, 75, stderr);
  assert.match(stderr, /state\.txt: another run was faster; nothing was sent, run again\n$/);
  await holds(pid, { a: '5', new: '5' });
  assert.deepEqual(site.files(), ['state.txt']);
});

test('a set that the UNS refused is not in doubt, and the same stream can be delivered later', async () => {
  const site = makeSite(url('a'));
  const refused = await lcccp(4, site.first, ['--set=full']);
  assert.equal(refused.status, 69);
  const other = site.told([url('b')]);
  assert.doesNotMatch(other, /curl="a"/);
  const unsent = await lcccp(providers[0]!, other, ['--uns=127.0.0.1:1']);
  assert.equal(unsent.status, 69);
  const pid = providers.shift()!;
  assert.equal((await lcccp(pid, other)).status, 0);
  await holds(pid, { b: '5' });
  assert.deepEqual(site.files(), ['state.txt']);
});

longIt('many unheard sets become one, and all of them are settled by the next that is heard', async () => {
  const pid = providers.shift()!;
  const site = makeSite(url('a'));
  await lcccp(pid, site.first);
  for (let n = 0; n < 9; n++) await unheard(pid, site.told([url('a'), url(`x${n}`)]));
  // Killed between having merged them and forgetting each, the next run merges them once more.
  const killed = spawnSync(join(ROOT, 'bin/lcccpstate'), [`--statefile=${site.state}`], {
    input: url('a'),
    env: { ...process.env, LCC_CRASH_AT: 'state.doubt.merged' },
  });
  assert.equal(killed.signal, 'SIGKILL');
  assert.equal(site.files().filter(name => name.includes('.doubt.')).length, 1);
  await unheard(pid, site.told([url('a'), url('x9')]));
  const files = site.files();
  assert.equal(files.filter(name => name.includes('.doubt.')).length, 1, files.join(' '));
  assert.ok(files.length < 20, files.join(' '));
  await holds(pid, { a: '5', x9: '5' });
  assert.equal((await lcccp(pid, site.told([url('a')]))).status, 0);
  await holds(pid, { a: '5' });
  assert.deepEqual(site.files(), ['state.txt']);
});

test('the ninth run while eight wait for an answer is exit 75 and says what to do', async () => {
  const site = makeSite(url('a'));
  site.told([url('a')], ['--commit']);
  const waiting = Array.from({ length: 9 }, () => {
    const child = spawn('sleep', ['1000']);
    children.push(child);
    const started = readFileSync(`/proc/${child.pid}/stat`, 'latin1').split(' ')[21];
    writeFileSync(`${site.state}.sent.${child.pid}-1.${child.pid}-${started}`, '<?lcc?>\n<?lcc end?>\n');
    return child;
  });
  const full = spawnSync(join(ROOT, 'bin/lcccpstate'), [`--statefile=${site.state}`], { input: url('b') });
  assert.equal(full.status, 75);
  assert.match(
    full.stderr.toString(),
    /state\.txt: 8 runs of lcccp wait for the UNS; run again once they have ended/,
  );
  for (const child of waiting) {
    child.kill('SIGKILL');
    await once(child, 'close');
  }
  assert.match(site.told([url('b')]), /curl="b"/);
});

test('more urls in doubt than cp.max_doubtful_urls, all gone, are exit 75 and settled by a full set', async () => {
  const pid = providers.shift()!;
  const site = makeSite(url('a'));
  await lcccp(pid, site.first);
  await unheard(pid, site.told([url('a'), url('x'), url('y')]));
  const config = join(site.dir, 'lcc.toml');
  writeFileSync(config, '[cp]\nmax_doubtful_urls = 1\n');
  const run = (...args: string[]) =>
    spawnSync(join(ROOT, 'bin/lcccpstate'), [`--statefile=${site.state}`, `--config=${config}`, ...args], {
      input: url('a'),
      encoding: 'utf8',
    });
  const refused = run();
  assert.equal(refused.status, 75);
  assert.match(
    refused.stderr,
    /2 urls that are gone were in sets of which it is not known whether they were accepted, more than cp\.max_doubtful_urls; send everything, once, with --full/,
  );
  assert.equal((await lcccp(pid, run('--full').stdout)).status, 0);
  await holds(pid, { a: '5' });
  assert.equal(run().status, 0);
});

longIt(
  'from another machine a set is delivered as it is, and its state kept by lcccpstate --commit',
  async () => {
    const pid = providers.shift()!;
    const site = makeSite(url('a'));
    const there = (stream: string) =>
      stream
        .replace(`state="${site.state}"`, 'state="/nowhere/on this machine/state"')
        .replace(`host="${hostname()}"`, 'host="web.example.org"');
    const first = await lcccp(pid, there(site.first));
    assert.equal(first.status, 0, first.stderr);
    assert.match(
      first.stderr,
      /\nlcccp: keep the state, there: lcccpstate --statefile=\/nowhere\/on this machine\/state --commit on web\.example\.org\n$/,
    );
    // Nobody has kept it: nothing is lost all the same. Machines may have one name, such as localhost.
    const namesake = (stream: string) =>
      there(stream).replace('host="web.example.org"', `host="${hostname()}"`);
    assert.equal((await lcccp(pid, namesake(site.told([url('b')])))).status, 0);
    await holds(pid, { b: '5' });
    site.told([], ['--commit']);
    assert.deepEqual(site.files(), ['state.txt']);
    const same = await lcccp(pid, there(site.told([url('b')])), ['-q']);
    assert.deepEqual(same, { status: 0, stdout: '', stderr: '' });

    const full = await lcccp(pid, there(site.told([url('b'), url('c')])), ['--set=full']);
    assert.equal(full.status, 64);
    assert.match(full.stderr, /the input holds changes only; run lcccpstate with --full/);
    const wanted = await lcccp(3, there(site.told([url('b'), url('c')])), ['-q']);
    assert.match(wanted.stderr, /the UNS wants a full set; send one with lcccpstate --full/);
    const fresh = await lcccp(7, there(site.told([url('b'), url('d')])));
    assert.equal(fresh.status, 65);
    assert.match(fresh.stderr, /never had a set of this provider, and the input holds changes only/);
    await arrives(3);
  },
);

test('--commit keeps nothing where it is not known which of two runs was delivered', () => {
  const site = makeSite(url('a'));
  site.told([], ['--commit']);
  site.told([url('b')]);
  const [made = '', pending = ''] = readdirSync(site.dir)
    .filter(name => name !== 'state.txt')
    .sort();
  // One that was made at the same time, and names nothing of the other.
  const other = pending.replace(/.*pending\./, '').replace(/\d/, digit => String((Number(digit) + 1) % 10));
  const text = readFileSync(join(site.dir, made), 'utf8');
  writeFileSync(join(site.dir, `state.txt.made.${other}`), text);
  const done = spawnSync(join(ROOT, 'bin/lcccpstate'), [`--statefile=${site.state}`, '--commit']);
  assert.equal(done.status, 75);
  assert.match(done.stderr.toString(), /several runs are under way, nothing was committed/);
  rmSync(join(site.dir, `state.txt.made.${other}`));
  assert.equal(spawnSync(join(ROOT, 'bin/lcccpstate'), [`--statefile=${site.state}`, '--commit']).status, 0);
  assert.deepEqual(filesBeside(site.dir), ['state.txt']);
  const nothing = spawnSync(join(ROOT, 'bin/lcccpstate'), [`--statefile=${site.state}`, '--commit']);
  assert.equal(
    nothing.stderr.toString(),
    `lcccpstate: ${site.state}: no set waits for its answer, nothing was done; ` +
      'the state of the last one is kept already, or --statefile is another\n',
  );
});
