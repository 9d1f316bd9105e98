/**
 * A process without a file descriptor left neither dies nor spins: it sends away what comes, and goes on when there are
 * some.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { spawnBot } from '../bot/lccbot.js';
import { TestCache } from '../support/cache.js';
import { ask, startCu, type CuDaemon } from '../support/cu.js';
import { Cp, Home, init, newHome, Receiver, set } from '../support/uns.js';
import { until } from '../support/until.js';

/** Of which a UNS has some 50 open at rest. */
const FEW_FILES = 256;
/** Processor time that a process may take which has nothing to do, in the ticks of proc(5), hundredths of a second. */
const AT_REST_TICKS = 20;

function makeIdentity(key: string, certificate: string): void {
  const args = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=uns'.split(
    ' ',
  );
  execFileSync('openssl', [...args, '-keyout', key, '-out', certificate], { stdio: 'ignore' });
}

/** How often each thread of a process has gone to sleep; undefined while one does something, or is about to. */
function sleepsOf(pid: number | undefined): string | undefined {
  try {
    const threads = readdirSync(`/proc/${pid}/task`).map(id =>
      readFileSync(`/proc/${pid}/task/${id}/status`, 'utf8'),
    );
    const sleeps = threads.map(text => /^State:\tS[^]*^voluntary_ctxt_switches:\t(\d+)/m.exec(text)?.[1]);
    return sleeps.includes(undefined) ? undefined : sleeps.join();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || !existsSync(`/proc/${pid}`)) throw error;
    // A thread has ended.
    return undefined;
  }
}

/** The lowest descriptor that a process has free once it is at rest; a new one is always the lowest. */
async function lowestFree(pid: number | undefined): Promise<number> {
  for (;;) {
    const before = sleepsOf(pid);
    const open = new Set(readdirSync(`/proc/${pid}/fd`).map(Number));
    let lowest = 0;
    while (open.has(lowest)) lowest++;
    // Nobody has opened or closed anything meanwhile, and nobody is about to.
    if (before !== undefined && before === sleepsOf(pid)) return lowest;
    await new Promise<void>(resolve => void setImmediate(resolve));
  }
}

/** Leaves a process descriptors below this number only. */
function limitFiles(pid: number | undefined, limit: number): void {
  execFileSync('prlimit', [`--pid=${pid}`, `--nofile=${limit}:`]);
}

/**
 * Opens `size` connections that send nothing and never close.
 * @returns ends them; resolves when the first `cut` were answered or cut
 */
async function crowdAt(port: number, size: number, cut: number): Promise<() => void> {
  let left = cut;
  let enough = () => {};
  const met = new Promise<void>(resolve => (enough = resolve));
  const crowd = Array.from({ length: size }, () => {
    const one = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    one.on('error', () => undefined);
    const over = () => {
      for (const event of ['data', 'end', 'close']) one.removeListener(event, over);
      if (--left === 0) enough();
    };
    return one.once('data', over).once('end', over).once('close', over);
  });
  await met;
  return () => crowd.forEach(one => void one.destroy());
}

/** Processor time so far. */
function ticksOf(pid: number | undefined): number {
  const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const [user, system] = fields.split(' ').slice(11);
  return Number(user) + Number(system);
}

describe('without a descriptor', () => {
  const home = new Home();
  const cache = new TestCache();
  const site = createServer((request, response) => void response.end(`page ${request.url}`));
  const daemons: CuDaemon[] = [];
  after(async () => {
    for (const { child } of daemons) child.kill('SIGKILL');
    await home.remove();
    cache.close();
    site.close();
  });

  it('lccd-uns closes new connections, refuses sets with 102, and loses none that it accepted', async () => {
    const password = home.addProvider(9);
    home.configure('[uns]\nlogin_timeout_ms = 1000\n');
    const qm = await new Receiver().listen(home.qmPath);
    const uns = await home.start();
    const { pid } = uns.child;
    const send = (name: string) => new Cp(uns.port).send(init(9, password) + set('partial', name)).reply;
    const accepted: string[] = [];
    let told = '';
    const sendAndNote = async (name: string): Promise<string> => {
      const reply = await send(name);
      told += reply;
      const answer = /<set_accepted|code="\d+"/.exec(reply)?.[0] ?? 'closed';
      if (answer === '<set_accepted') accepted.push(name);
      return answer;
    };
    assert.equal(await sendAndNote('before'), '<set_accepted');
    await qm.until(({ sets }) => sets.length === 1);

    await uns.logged('"CP disconnected"');
    const lowest = await lowestFree(pid);
    const before = ticksOf(pid);
    limitFiles(pid, lowest);
    const crowd = await Promise.all(Array.from({ length: 20 }, (_, n) => sendAndNote(`crowd ${n}`)));
    assert.deepEqual(new Set(crowd), new Set(['closed']));
    // One that gets the last descriptor, and is sent away when its time to log in is over: that long it can do nothing.
    limitFiles(pid, lowest + 1);
    assert.match(await new Cp(uns.port).reply, /uns\.login_timeout_ms/);
    const ticks = ticksOf(pid) - before;
    assert.ok(ticks < AT_REST_TICKS, `${ticks} ticks of processor time within a second of rest`);

    const answers = new Set<string>();
    for (let room = 0; room < 8; room++) {
      limitFiles(pid, lowest + room);
      answers.add(await sendAndNote(`room ${room}`));
    }
    const expected = ['<set_accepted', 'code="102"', 'closed'];
    assert.deepEqual(
      [...answers].filter(answer => !expected.includes(answer)),
      [],
    );

    assert.match(told, /<set_rejected code="102">[^<]*: too many files are open</);
    assert.doesNotMatch(told, /no room/);
    assert.match(uns.log, /EMFILE: [^"]*; raise the limit of open files of this process \(ulimit -n\)"/);

    limitFiles(pid, 1000);
    assert.equal(await sendAndNote('after'), '<set_accepted');
    await qm.until(({ sets }) => sets.length === accepted.length);
    assert.deepEqual(
      qm.sets.map(({ curls }) => curls[0]),
      accepted,
    );
    await uns.stop();
    await qm.close();
  });

  for (const [kind, what] of [
    ['127.0.0.1', 'that are turned away and do not go'],
    ['tls:127.0.0.1', 'that never begin to speak TLS'],
  ] as const)
    it(`lccd-uns takes sets beside a crowd of strangers ${what}`, async () => {
      const crowded = newHome();
      const password = crowded.addProvider(9);
      const file = (name: string) => join(crowded.dir, name);
      makeIdentity(file('key.pem'), file('cert.pem'));
      writeFileSync(
        file('lcc.toml'),
        `uns.max_connections_per_address = 60000\nnet.tls_cert = "${file('cert.pem')}"\nnet.tls_key = "${file('key.pem')}"\n`,
      );
      const uns = await crowded.start({}, ['--listen=tls:127.0.0.1:0'], FEW_FILES);
      const cp = new Cp(uns.port).send(init(9, password));
      await cp.hears('</lococa:init_accepted>');
      const port = Number(new RegExp(`"endpoint":"${kind}:(\\d+)"`).exec(uns.log)?.[1]);
      const disperse = await crowdAt(port, 2 * FEW_FILES, FEW_FILES);
      assert.match(await cp.send(set('partial', 'x')).reply, /<set_accepted/);
      disperse();
      await uns.stop();
    });

  it('lccd-cu closes new connections, refuses queries with 102, never leaves out what it holds', async () => {
    const urls = Array.from({ length: 20 }, (_, i) => `http://x/${i}`);
    for (const curl of urls) cache.put({ curl });
    const cu = await startCu(cache);
    daemons.push(cu);
    const { pid } = cu.child;
    const query = () => ask(cu.unix, '<query content="yes"/>');
    const lowest = await lowestFree(pid);
    // Its first query of all: what is only loaded now must not be missing for ever.
    for (let room = 0; room < 12; room++) {
      limitFiles(pid, lowest + room);
      const reply = await query();
      assert.doesNotMatch(reply, /<omitted/);
      if (/<\/lococa:result>/.test(reply)) assert.equal(reply.match(/<url /g)?.length, urls.length);
      else assert.match(reply, /code="102"|^$/);
    }
    limitFiles(pid, 1000);
    assert.equal((await query()).match(/<\/url>/g)?.length, urls.length);
    assert.equal(cu.child.exitCode, null);
    assert.equal(await cu.stop(), 0);
  });

  it('lccbot answers every request, with nothing that its url is to blame for', async () => {
    await new Promise<void>(resolve => void site.listen(0, '127.0.0.1', resolve));
    const { port } = site.address() as AddressInfo;
    const bot = spawnBot(['--stdio', '--allow-address=127.0.0.0/8']);
    const { stdin, stdout, pid } = bot.child;
    assert.ok(stdin !== null && stdout !== null);
    let said = '';
    stdout.on('data', (bytes: Buffer) => (said += bytes.toString()));
    let asked = 0;
    const results = () => said.match(/<fetched [^\n]*\n/g) ?? [];
    const fetchSome = async (count: number): Promise<string[]> => {
      const from = asked;
      for (let i = 0; i < count; i++) {
        const id = ++asked;
        const file = join(bot.home, 'files', String(id));
        stdin.write(
          `<fetch id="${id}" url="http://127.0.0.1:${port}/${id}" file="${file}" lane="${id % 7}"/>\n`,
        );
      }
      await until(`${asked} urls are fetched`, () => results().length >= asked);
      return results().slice(from);
    };
    assert.match((await fetchSome(1))[0] ?? '', /status="ok"/);
    const lowest = await lowestFree(pid);
    const failures = new Set<string>();
    for (const room of [0, 1, 2, 4, 8, 12]) {
      limitFiles(pid, lowest + room);
      for (const result of await fetchSome(60)) {
        if (result.includes('status="ok"')) continue;
        failures.add(/code="\d+" reach="\w+"/.exec(result)?.[0] ?? result);
        assert.match(result, /\(EMFILE\); raise the limit of open files/);
      }
    }
    assert.deepEqual([...failures], ['code="605" reach="provider"']);
    limitFiles(pid, 1000);
    for (const result of await fetchSome(60)) assert.match(result, /status="ok"/);
    stdin.end();
    assert.equal(await bot.exited, 0);
  });
});
