import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, afterEach, describe, it, type TestContext } from 'node:test';
import { loadConfig } from '../../src/config/load.js';
import type { SettingKey } from '../../src/config/settings/index.js';
import { describe as describeSocket } from '../../src/daemon/connection.js';
import { boundReadAhead } from '../../src/daemon/listeners.js';
import { silentLog } from '../../src/lib/log.js';
import { unsOptions } from '../../src/uns/options.js';
import { UnsServer } from '../../src/uns/server.js';
import { ManualClock } from '../support/manual-clock.js';
import { mountSmall } from '../support/disk.js';
import { settle } from '../support/duplex.js';
import { STRANGER_BYTES } from '../support/flood.js';
import { Cp, init, newHome, set, type Home } from '../support/uns.js';
import { until } from '../support/until.js';

interface Stage {
  home: Home;
  uns: UnsServer;
  clock: ManualClock;
  port: number;
  failures: unknown[];
  server: Server;
  /** All that have connected. */
  sockets: ReadonlySet<Socket>;
}

const stages: Stage[] = [];
afterEach(async () => {
  for (const { uns, server, clock } of stages.splice(0)) {
    server.close();
    const stopped = uns.stop();
    const tick = setInterval(() => clock.advance(10_000), 5);
    await stopped;
    clearInterval(tick);
    await uns.close();
  }
});

/** The stage without its daemon: real sockets and files, time as the test wants it. */
async function stage(home: Home, overrides: Partial<Record<SettingKey, string>> = {}): Promise<Stage> {
  boundReadAhead();
  const clock = new ManualClock();
  const failures: unknown[] = [];
  const config = loadConfig({
    env: { LCC_HOME: home.dir },
    overrides: { 'uns.max_connections_per_address': '10000', ...overrides },
  });
  const uns = new UnsServer({
    options: unsOptions(config, Infinity),
    clock,
    log: silentLog,
    fail: error => void failures.push(error),
  });
  const sockets = new Set<Socket>();
  const server = createServer(socket => {
    sockets.add(socket);
    uns.accept(describeSocket(socket));
  });
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', 4096, resolve));
  const made = { home, uns, clock, port: (server.address() as AddressInfo).port, failures, server, sockets };
  stages.push(made);
  return made;
}

/** A stranger that says the same as long as it is listened to. */
function flood(port: number, text: string, head = '') {
  const socket = connect(port, '127.0.0.1');
  const block = Buffer.from(text.repeat(Math.ceil(10_000 / text.length)));
  let said = '';
  socket.setEncoding('utf8').on('data', (more: string) => void (said += more));
  const write = () => {
    while (!socket.destroyed && socket.write(block));
  };
  socket.on('drain', write).on('error', () => undefined);
  const begun = once(socket, 'connect').then(() => {
    socket.write(head);
    write();
  });
  const reply = new Promise<string>(resolve => void socket.once('close', () => resolve(said)));
  return { socket, begun, reply };
}

const ACCEPTED = /set_accepted received="1"/;

/** Lets `clock` pass in the background until `work` is done. */
async function whilePassing<T>(clock: ManualClock, work: Promise<T>): Promise<T> {
  const tick = setInterval(() => clock.advance(1000), 5);
  try {
    return await work;
  } finally {
    clearInterval(tick);
  }
}

describe('the UNS', () => {
  it('serves CPs while a crowd of idle and dripping strangers holds every place', async () => {
    const home = newHome();
    const passwords = Array.from({ length: 20 }, (_, i) => home.addProvider(i + 1));
    const { uns, clock, port } = await stage(home, { 'uns.max_connections': '100' });
    const crowd = Array.from({ length: 300 }, () => new Cp(port));
    await Promise.all(crowd.map(cp => new Promise(resolve => cp.socket.once('connect', resolve))));
    for (const cp of crowd) cp.send('<in');
    const refused = crowd.filter((_, i) => i >= 100).map(cp => cp.hears('code="102"'));
    await Promise.all(refused);
    clock.advance(1000);
    const cps = passwords.map((password, i) =>
      new Cp(port).send(init(i + 1, password) + set('partial', 'a')),
    );
    for (const reply of await Promise.all(cps.map(cp => cp.reply))) assert.match(reply, ACCEPTED);
    assert.ok(uns.status().connections <= 100);
    const gone = async () => {
      await Promise.all(crowd.map(cp => cp.reply));
      await until('no connection is left', () => uns.status().connections === 0);
    };
    await whilePassing(clock, gone());
  });

  for (const [what, noise] of [
    ['declarations', '<?xml version="1.0"?>\n'],
    ['comments', '<!-- x -->\n'],
    ['comments full of >', `<!--${' >'.repeat(500)}-->`],
    ['an init that never ends', '<!-- init -->'],
  ] as const) {
    it(`reads at most 256 KB of a flood of ${what}, and serves CPs beside it`, async () => {
      const home = newHome();
      const password = home.addProvider(7);
      const { port, uns, sockets } = await stage(home);
      const floods = Array.from({ length: 31 }, () =>
        flood(port, noise, what.includes('init') ? '<init>' : ''),
      );
      await Promise.all(floods.map(({ begun }) => begun));
      assert.match(await new Cp(port).send(init(7, password) + set('partial', 'a')).reply, ACCEPTED);
      for (const { reply } of floods) {
        const said = await reply;
        assert.match(
          said,
          /<reason code="106">line \d+, column \d+: no message in 128 KB \(wire\.max_hello_bytes\)/,
        );
      }
      const read = [...sockets].map(({ bytesRead }) => bytesRead);
      assert.equal(read.length, 32);
      assert.ok(Math.max(...read) <= STRANGER_BYTES, String(Math.max(...read)));
      assert.equal(uns.status().refused, 31);
    });
  }

  it('lets a CP log in before a crowd of strangers has been read', async () => {
    const home = newHome();
    const password = home.addProvider(7);
    const { port, uns } = await stage(home, { 'wire.max_hello_bytes': '16MB' });
    const floods = Array.from({ length: 31 }, () => flood(port, '<?xml version="1.0"?>\n'));
    await Promise.all(floods.map(({ begun }) => begun));
    assert.match(await new Cp(port).send(init(7, password) + set('partial', 'a')).reply, ACCEPTED);
    assert.equal(uns.status().refused, 0);
    for (const { socket } of floods) socket.destroy();
  });

  it('cuts a CP that says nothing, and the reply names the limit', async () => {
    const home = newHome();
    const password = home.addProvider(7);
    const { clock, port } = await stage(home);
    const silent = new Cp(port).send(init(7, password));
    await silent.hears('</lococa:init_accepted>');
    const open = new Cp(port).send(init(7, password) + set('partial', 'a').slice(0, -20));
    await open.hears('<errors>\n</errors>');
    const replies = await whilePassing(clock, Promise.all([silent.reply, open.reply]));
    for (const reply of replies) assert.match(reply, /<set_rejected code="106">[^<]*uns\.idle_timeout_ms/);
  });

  it('cuts a CP that has its last reply and stays', async () => {
    const home = newHome();
    const password = home.addProvider(7);
    const { clock, port, uns } = await stage(home);
    const stays = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    stays.on('error', () => undefined).write(init(7, password) + set('partial', 'a'));
    stays.resume();
    await once(stays, 'end');
    clock.advance(4999);
    await settle();
    assert.equal(uns.status().connections, 1);
    clock.advance(1);
    await settle();
    assert.equal(uns.status().connections, 0);
  });

  it('refuses sets over the limits of one set as a whole, naming the limit', async () => {
    const home = newHome();
    const password = home.addProvider(7);
    const { port, uns } = await stage(home, { 'uns.max_set_urls': '2', 'uns.max_set_bytes': '1KB' });
    const many = await new Cp(port).send(init(7, password) + set('partial', 'a', 'b', 'c')).reply;
    assert.match(many, /<set_rejected code="106">[^<]*2 \(uns\.max_set_urls\)/);
    const big = new Cp(port).send(init(7, password));
    await big.hears('</lococa:init_accepted>');
    big.send(`<lococa:set set="partial">`);
    await big.hears('<lococa:set_result>');
    big.send(`${' '.repeat(1100)}</lococa:set>`);
    assert.match(await big.reply, /<set_rejected code="106">[^<]*1 KB \(uns\.max_set_bytes\)/);
    assert.equal(uns.status().sets_spooled, 0);
  });

  it('sends CPs away while the spool is full', async () => {
    const home = newHome();
    const password = home.addProvider(7);
    const full = await stage(home, { 'uns.max_spool_bytes': '1MB' });
    const long = 'x'.repeat(1000);
    const curls = Array.from({ length: 1100 }, (_, i) => `${i}${long}`);
    assert.match(
      await new Cp(full.port).send(init(7, password) + set('partial', ...curls)).reply,
      /received="1100"/,
    );
    const refused = await new Cp(full.port).send(init(7, password)).reply;
    assert.match(refused, /<reason code="102">[^<]*1 MB \(uns\.max_spool_bytes\)/);
  });

  it('sends a CP away in the middle of its set when the spool becomes full', async () => {
    const home = newHome();
    const password = home.addProvider(7);
    const uns = await stage(home, { 'uns.max_spool_bytes': '1MB' });
    const cp = new Cp(uns.port).send(init(7, password) + set('partial', 'a').replace('</lococa:set>', ''));
    await cp.hears('<lococa:set_result>');
    const curls = Array.from({ length: 1100 }, (_, i) => `${i}${'x'.repeat(1000)}`);
    const other = await new Cp(uns.port).send(init(7, password) + set('partial', ...curls)).reply;
    assert.match(other, /received="1100"/);
    const large = `<url curl="a" mimetype="text/html" subtype="x:${'y'.repeat(60_000)}"/>`;
    cp.send(`${large.repeat(300)}</lococa:set>`);
    assert.match(await cp.reply, /<set_rejected code="102">[^<]*1 MB \(uns\.max_spool_bytes\)/);
  });

  it('has one session too many of a provider come back later', async () => {
    const home = newHome();
    const password = home.addProvider(7);
    const { port } = await stage(home, { 'uns.max_connections_per_provider': '1' });
    const first = new Cp(port).send(init(7, password));
    await first.hears('</lococa:init_accepted>');
    assert.match(
      await new Cp(port).send(init(7, password)).reply,
      /code="102">[^<]*uns\.max_connections_per_provider/,
    );
    first.socket.end();
    await first.reply;
    assert.match(await new Cp(port).send(init(7, password) + set('partial', 'a')).reply, ACCEPTED);
  });

  it('makes guessing slow for a provider, however its number is written', async () => {
    const home = newHome();
    const [password, other] = [home.addProvider(4), home.addProvider(5)];
    const { port, clock } = await stage(home);
    for (const id of ['4', '04', '004', '0004'])
      assert.match(await new Cp(port).send(init(id, 'wrong')).reply, /code="101"/);
    const late = new Cp(port).send(init('00004', password) + set('partial', 'a'));
    let hasReply = false;
    void late.reply.then(() => (hasReply = true));
    assert.match(await new Cp(port).send(init(5, other) + set('partial', 'a')).reply, ACCEPTED);
    assert.equal(hasReply, false, 'it waits for its turn');
    assert.match(await whilePassing(clock, late.reply), ACCEPTED);
  });

  it('stops at once although a CP waits after failed logins', async () => {
    const home = newHome();
    const password = home.addProvider(7);
    const { uns, clock, port } = await stage(home);
    for (let failures = 0; failures < 4; failures++)
      assert.match(await new Cp(port).send(init(7, 'wrong')).reply, /code="101"/);
    const cp = new Cp(port).send(init(7, password));
    // What is left is due later than the wait, a tenth of a second.
    while ((clock.nextMs() ?? Infinity) > 100) await settle();
    await uns.stop();
    assert.match(await cp.reply, /<reason code="102">[^<]*the UNS stops/);
  });

  it('reads on only when the CP reads its errors', async () => {
    const home = newHome();
    const password = home.addProvider(7);
    const { port, clock } = await stage(home);
    const cp = new Cp(port).send(init(7, password) + '<lococa:set set="partial">');
    await cp.hears('<lococa:set_result>');
    cp.socket.pause();
    const bad = `<url mimetype="text/html" subtype="x:${'y'.repeat(1000)}"/>`.repeat(1000);
    let sent = 0;
    while (sent < 100) {
      sent += 1;
      if (!cp.socket.write(bad) && cp.socket.writableLength > 8_000_000) break;
    }
    await settle(500);
    assert.ok(cp.socket.writableLength > 1_000_000, 'the UNS stopped reading');
    cp.socket.resume();
    cp.send('</lococa:set>');
    const reply = await whilePassing(clock, cp.reply);
    assert.match(reply.slice(-100), /<set_accepted received="0"\/>/);
    assert.equal(reply.split('code="301"').length - 1, sent * 1000);
  });
});

describe('a full disk', () => {
  const mounted: (() => void)[] = [];
  after(() => mounted.forEach(unmount => unmount()));

  /** A home with a disk of its own for the spool; undefined: the test is skipped. */
  function onSmallDisk(t: TestContext): { home: Home; dir: string } | undefined {
    const home = newHome();
    const dir = join(home.dir, 'spool');
    mkdirSync(dir);
    const unmount = mountSmall(dir, '2m');
    if (unmount === undefined) {
      t.skip('mounting a small disk takes root');
      return undefined;
    }
    mounted.push(unmount);
    return { home, dir };
  }

  it('is told to the CP at once, and what was accepted before stays', async t => {
    const small = onSmallDisk(t);
    if (small === undefined) return;
    const { home, dir } = small;
    const password = home.addProvider(7);
    const { port, failures } = await stage(home, { 'uns.min_free_disk_percent': '0' });
    assert.match(await new Cp(port).send(init(7, password) + set('partial', 'a')).reply, ACCEPTED);
    const curls = Array.from({ length: 3000 }, (_, i) => `${i}${'x'.repeat(1000)}`);
    const reply = await new Cp(port).send(init(7, password) + set('partial', ...curls)).reply;
    assert.match(reply, /<set_rejected code="102">/);
    const other = new Cp(port).send(init(7, password));
    await other.hears('</lococa:init_accepted>');
    assert.throws(() => writeFileSync(join(dir, 'other'), Buffer.alloc(3_000_000)), { code: 'ENOSPC' });
    assert.match(await other.send(set('partial', 'b')).reply, /<set_rejected code="102">/);
    rmSync(join(dir, 'other'));
    assert.match(await new Cp(port).send(init(7, password) + set('partial', 'b')).reply, ACCEPTED);
    assert.deepEqual(readdirSync(join(dir, 'uns/uns/tmp')), []);
    assert.equal(home.spooled().length, 2);
    assert.deepEqual(failures, []);
  });

  it('is told before it is full, naming the share that must stay free', async t => {
    const small = onSmallDisk(t);
    if (small === undefined) return;
    const { home, dir } = small;
    const password = home.addProvider(7);
    const { port } = await stage(home, { 'uns.min_free_disk_percent': '90' });
    writeFileSync(join(dir, 'other'), Buffer.alloc(500_000));
    const refused = await new Cp(port).send(init(7, password)).reply;
    assert.match(
      refused,
      /<reason code="102">[^<]* free of 2\.0 MB, 1\.8 MB needed \(uns\.min_free_disk_percent\)/,
    );
    rmSync(join(dir, 'other'));
    assert.match(await new Cp(port).send(init(7, password) + set('partial', 'a')).reply, ACCEPTED);
  });
});
