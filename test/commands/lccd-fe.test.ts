/** lccd-fe between CPs and two homes, which it finds in a real engine. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { makeTables } from '../../src/db/engine/home-rows.js';
import { Engine as OurEngine } from '../../src/db/engine/engine.js';
import { engineAccount } from '../../src/db/engine/nodes.js';
import { systemClock } from '../../src/lib/clock.js';
import { silentLog } from '../../src/lib/log.js';
import { openFilesLimit } from '../../src/lib/open-files.js';
import { Authority } from '../fetch/authority.js';
import { runCommand } from '../support/command.js';
import { startDaemon, statusOf, type Daemon } from '../support/daemon.js';
import { Engine, noEngine } from '../support/engine.js';
import { freePort } from '../support/free-port.js';
import { amount, longIt } from '../support/long.js';
import { accepted, codeOf, Cp, init, newHome, set, type Home } from '../support/uns.js';
import { until } from '../support/until.js';

/** A process that may have as many files open as a crowd of acceptance 27 needs, where this system lets us. */
const MORE_FILES = ['prlimit', '--nofile=65536:65536'];
const hasMoreFiles = spawnSync('prlimit', [...MORE_FILES.slice(1), 'true']).status === 0;
/** A daemon has a quarter of its files for CPs. */
const MOST_CPS = Math.floor((hasMoreFiles ? 65_536 : openFilesLimit()) / 4) - 50;
/** CPs that say who they are a byte at a time, and those that say nothing. */
const DRIPPING = amount(100, 500);
const IDLE = Math.min(amount(400, 9000), MOST_CPS - DRIPPING);
/** Connections that are begun at once: fewer than wait for a listener. */
const BURST = 100;
const SETS = 15;
/** Providers of a home, and numbers of none, at which a password is guessed as often as costs no delay. */
const [KNOWN, UNKNOWN] = [1000, 5000];
const GUESSED = 100;
const FREE_GUESSES = 3;
const CROWD = `[uns]\nmax_connections = 10000\nmax_connections_per_address = 10000\nlogin_timeout_ms = 300000\n`;
/** Of lccd-fe beyond what it has without a crowd: memory for each connection, files beside them. */
const MOST_BYTES_EACH = 48 * 1024;
const MOST_FILES = 100;

let engine: Engine;
let authority: Authority;
let net = '';
let feHome: string;
let fe: Daemon;
const homes: { home: Home; password: string; owner: string; port: number; uns: Daemon }[] = [];

/** Provider 7 + N, in home N. */
async function startHome(shard: number): Promise<void> {
  const home = newHome();
  const port = await freePort();
  home.configure(`${net}[cluster]\nshard = ${shard}\n`);
  const password = home.addProvider(7 + shard);
  const uns = await home.start({}, [`--listen-fe=tls:127.0.0.1:${port}`]);
  homes.push({ home, password, port, uns, owner: `localhost:${port - 3}` });
  await own(shard, `localhost:${port - 3}`);
  await engine.node.query(`insert into lcc.pmdb values (${7 + shard}, ${shard}, 'served')`);
}

const own = (shard: number, owner: string) =>
  engine.node.query(
    `replace into lcc.home select ${shard}, 'u', coalesce(max(epoch), 0) + 1, '${owner}', 1 from lcc.home`,
  );

const status = () => statusOf(feHome, 'lccd-fe');
const cp = (document: string, port = fe.port) => new Cp(port).send(document).reply;
const wholeSet = (n: number) => init(7 + n, homes[n]?.password ?? '') + set('partial', 'a.html');

describe('lccd-fe', { skip: noEngine }, () => {
  before(async () => {
    engine = await Engine.start();
    const account = {
      url: engine.url().replace('//lcc@', '//lcc_admin@'),
      passwordFile: engine.passwordFile('lcc_admin'),
    };
    const ours = new OurEngine(engineAccount({ ...account, tlsCa: '', plain: false }), {
      clock: systemClock,
      log: silentLog,
    });
    await makeTables(ours, new AbortController().signal);
    ours.close();
    authority = new Authority();
    const { certFile, keyFile } = authority.issue();
    net = `[net]\npeer_ca = "${authority.caFile}"\npeer_cert = "${certFile}"\npeer_key = "${keyFile}"\n`;
    for (const shard of [0, 1]) await startHome(shard);
    feHome = mkdtempSync(join(tmpdir(), 'lcc-fe-'));
    const store = `[store]\nurl = "${engine.url()}"\npassword_file = "${engine.passwordFile()}"\n`;
    writeFileSync(join(feHome, 'lcc.toml'), `${net}${store}[fe]\nwait_ms = 1500\n${CROWD}`);
    const via = hasMoreFiles ? MORE_FILES : [];
    fe = startDaemon('lccd-fe', feHome, ['--listen=127.0.0.1:0', '-v'], { LCC_CONFIG: '' }, via);
    await fe.ready;
    await until('it knows both homes', async () => (await status())['homes'] === 2);
  });
  after(async () => {
    await fe?.stop();
    await engine?.remove();
    if (feHome) rmSync(feHome, { recursive: true, force: true });
  });

  it('passes each provider on to the home that has it, over connections of machines of the LCC', async () => {
    for (const n of [0, 1]) assert.equal(accepted(await cp(wholeSet(n))), 1);
    await until('sets are in the spools', () => homes.every(({ home }) => home.spooled().length === 1));
    assert.equal((await status())['passed'], 2);
  });

  it('has a provider that no home has refused as its home refuses one', async () => {
    const here = await cp(init(99, 'wrong'));
    assert.equal(codeOf(here), 101);
    assert.equal(here, await cp(init(99, 'wrong'), homes[0]?.uns.port));
  });

  longIt('takes as long to refuse a provider that no home has as a wrong password', async () => {
    for (let pid = KNOWN; pid < KNOWN + GUESSED; pid++) homes[0]?.home.addProvider(pid);
    const rows = Array.from({ length: GUESSED }, (_, n) => `(${KNOWN + n}, 0, 'served')`);
    await engine.node.query(`insert into lcc.pmdb values ${rows.join()}`);
    const refusedMs = async (pid: number) => {
      const beganMs = performance.now();
      const guess = new Cp(fe.port).send(init(pid, 'wrong'));
      await guess.hears('101');
      const ms = performance.now() - beganMs;
      return { ms, reply: await guess.reply };
    };
    const took = new Map<number, number[]>([
      [KNOWN, []],
      [UNKNOWN, []],
    ]);
    const replies = new Set<string>();
    for (let n = 0; n < GUESSED * FREE_GUESSES; n++)
      // Each is first as often as second.
      for (const of of n % 2 === 0 ? [KNOWN, UNKNOWN] : [UNKNOWN, KNOWN]) {
        const { ms, reply } = await refusedMs(of + (n % GUESSED));
        took.get(of)?.push(ms);
        replies.add(reply);
      }
    assert.equal(replies.size, 1);
    const [known = NaN, unknown = NaN] = [...took.values()].map(
      all => all.sort((a, b) => a - b)[all.length >> 1],
    );
    const apart = Math.abs(known - unknown) / Math.min(known, unknown);
    assert.ok(apart < 0.1, `${known} ms for a wrong password, ${unknown} ms for one that nobody is`);
  });

  it('is no machine that a home believes, without a certificate of the authority', async () => {
    const port = homes[0]?.port ?? 0;
    const plain = new Cp(port).send('PROXY TCP4 192.0.2.7 192.0.2.1 5 9000\r\n').send(wholeSet(0));
    assert.equal(await plain.reply, '');
  });

  it('holds CPs of a home without owner, then says 102; and goes on with its next one', async () => {
    await own(1, '');
    await until('it has heard', async () => (await status())['homes_free'] === 1);
    assert.match(runCommand(feHome, 'lccstat', []).stdout, /no machine has 1 home/);
    assert.equal(codeOf(await cp(wholeSet(1))), 102);
    const held = cp(wholeSet(1));
    await until('it is held', async () => (await status())['held'] === 1);
    await own(1, homes[1]?.owner ?? '');
    assert.equal(accepted(await held), 1);
  });

  it('holds those of a provider that moves, and passes them on where it has come to', async () => {
    await engine.node.query("update lcc.pmdb set state = 'moving' where pid = 7");
    const held = cp(wholeSet(0));
    await until('it is held', async () => (await status())['held'] === 1);
    await engine.node.query("update lcc.pmdb set state = 'served' where pid = 7");
    assert.equal(accepted(await held), 1);
  });

  it('goes on by what it knows while the engine is away', async () => {
    await engine.node.stop();
    try {
      assert.equal(accepted(await cp(wholeSet(0))), 1);
      // Nobody can say whether another home has it.
      assert.equal(codeOf(await cp(init(99, 'wrong'))), 102);
    } finally {
      await engine.node.start();
    }
    await until('it has heard again', async () => Number((await status())['map_age_seconds']) < 1);
    assert.equal(codeOf(await cp(init(99, 'wrong'))), 101);
  });

  longIt(
    `serves others as before beside ${IDLE} that say nothing and ${DRIPPING} that drip, in bounded memory and files`,
    async () => {
      const proc = `/proc/${fe.child.pid}`;
      const bytes = () =>
        Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`${proc}/status`, 'utf8'))?.[1]) * 1024;
      const files = () => readdirSync(`${proc}/fd`).length;
      const medianMs = async () => {
        const all: number[] = [];
        for (let n = 0; n < SETS; n++) {
          for (const socket of crowd.slice(IDLE)) socket.write(' ');
          const beganMs = performance.now();
          assert.equal(accepted(await cp(wholeSet(n % 2))), 1);
          all.push(performance.now() - beganMs);
        }
        return all.sort((a, b) => a - b)[SETS >> 1] ?? NaN;
      };
      const crowd: Socket[] = [];
      const aloneMs = await medianMs();
      const [bytesBefore, filesBefore] = [bytes(), files()];
      for (let n = 0; n < IDLE + DRIPPING; n++) {
        const socket = connect(fe.port, '127.0.0.1');
        socket.on('error', () => undefined).resume();
        crowd.push(socket);
        if (n % BURST === 0) await once(socket, 'connect');
      }
      const mostFiles = filesBefore + crowd.length + MOST_FILES;
      try {
        await until('all are connected', async () => Number((await status())['connections']) >= crowd.length);
        const besideMs = await medianMs();
        assert.ok(besideMs < 3 * aloneMs + 500, `${besideMs} ms, ${aloneMs} ms alone`);
        assert.ok(
          bytes() < bytesBefore + crowd.length * MOST_BYTES_EACH + 2 ** 26,
          `${bytes()}, ${bytesBefore} before`,
        );
        assert.ok(files() <= mostFiles, `${files()} files`);
        assert.equal(crowd.filter(({ destroyed }) => destroyed).length, 0, 'none is sent away');
      } finally {
        for (const socket of crowd) socket.destroy();
      }
      // Those that have said something are refused by a UNS, as they would be without a front end.
      let most = 0;
      await until('they are gone', async () => {
        most = Math.max(most, files());
        return Number((await status())['connections']) === 0;
      });
      assert.ok(most <= mostFiles, `${most} files`);
    },
  );

  it('ends with a word to those whose set is not whole, and leaves none without', async () => {
    const open = new Cp(fe.port).send(init(7, homes[0]?.password ?? ''));
    await open.hears('</lococa:init_accepted>');
    assert.equal(await fe.stop(), 0);
    assert.equal(codeOf(await open.reply), 102);
  });
});

describe('lccd-fe without an engine', () => {
  it('says what it lacks', () => {
    const home = mkdtempSync(join(tmpdir(), 'lcc-fe-'));
    const { status: code, stderr } = runCommand(home, 'lccd-fe', ['--listen=127.0.0.1:0']);
    rmSync(home, { recursive: true });
    assert.equal(code, 78);
    assert.match(stderr, /store\.url is not set/);
  });
});
