/** A UNS in a kept home: a set is called accepted when the Queue Manager has absorbed it, which is gated. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import { loadConfig } from '../../src/config/load.js';
import { describe as describeSocket } from '../../src/daemon/connection.js';
import { SessionStore } from '../../src/db/spools/sessions.js';
import { silentLog } from '../../src/lib/log.js';
import { onStep } from '../../src/lib/steps.js';
import { unsOptions } from '../../src/uns/options.js';
import { UnsServer } from '../../src/uns/server.js';
import { settle } from '../support/duplex.js';
import { KEPT_HOME } from '../support/held-keeper.js';
import { ManualClock } from '../support/manual-clock.js';
import { Cp, init, newHome, Receiver, set, type Home } from '../support/uns.js';
import { until } from '../support/until.js';

interface Stage {
  home: Home;
  uns: UnsServer;
  clock: ManualClock;
  port: number;
  /** A Queue Manager comes. */
  connectQm: () => void;
}

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  onStep(() => undefined);
  for (const end of ends.splice(0)) await end();
});

async function stage(home: Home, epoch = 1): Promise<Stage> {
  const clock = new ManualClock();
  writeFileSync(join(home.dir, 'lcc.toml'), epoch === 0 ? '' : KEPT_HOME);
  const config = loadConfig({ env: { LCC_HOME: home.dir } });
  const uns = new UnsServer({
    options: unsOptions(config, Infinity),
    epoch,
    clock,
    log: silentLog,
    fail: error => assert.fail(String(error)),
  });
  const server: Server = createServer(socket => uns.accept(describeSocket(socket)));
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
  const close = async () => {
    server.close();
    let isStopped = false;
    void uns.stop().then(() => (isStopped = true));
    await until('it stops', () => {
      clock.advance(10_000);
      return isStopped;
    });
    await uns.close();
  };
  ends.push(close);
  const connectQm = () => {
    const socket = connect(home.qmPath);
    socket.on('error', () => undefined);
    ends.unshift(() => Promise.resolve(void socket.destroy()));
    uns.serveQueueManager(describeSocket(socket));
  };
  return { home, uns, clock, port: (server.address() as AddressInfo).port, connectQm };
}

async function receiverOf(home: Home): Promise<Receiver> {
  const receiver = await new Receiver().listen(home.qmPath);
  ends.push(() => receiver.close());
  return receiver;
}

describe('a set in a kept home', () => {
  it('is called accepted when the Queue Manager has absorbed it, and not before', async () => {
    const home = newHome();
    const password = home.addProvider(1);
    const { port, connectQm } = await stage(home);
    const steps: string[] = [];
    onStep(name => void steps.push(name));
    const receiver = await receiverOf(home);
    const cp = new Cp(port).send(init(1, password) + set('partial', 'a'));
    await until('it lies in the spool', () => home.spooled().length === 1);
    assert.doesNotMatch(cp.heard, /set_accepted/);
    assert.ok(!steps.includes('uns.absorbed.told'));
    connectQm();
    assert.match(await cp.reply, /set_accepted received="1"/);
    assert.equal(receiver.sets.length, 1);
    assert.ok(steps.includes('uns.absorbed.told'));
    await until('the spool has let it go', () => home.spooled().length === 0);
  });

  it('that nobody absorbs is refused with 102 after 10 s, and leaves the spool', async () => {
    const home = newHome();
    const password = home.addProvider(1);
    const { port, clock } = await stage(home);
    const steps: string[] = [];
    onStep(name => void steps.push(name));
    const cp = new Cp(port).send(init(1, password) + set('partial', 'a'));
    await until('it lies in the spool', () => steps.includes('uns.accepted'));
    await settle();
    clock.advance(9999);
    assert.doesNotMatch(cp.heard, /set_/);
    clock.advance(1);
    assert.match(await cp.reply, /set_rejected code="102"[^]*within 10 s/);
    assert.deepEqual(home.spooled(), []);
  });

  it('says for how long the CP waits that waits longest, and afterwards how long the last did', async () => {
    const home = newHome();
    const password = home.addProvider(1);
    const { port, clock, connectQm, uns } = await stage(home);
    const receiver = await receiverOf(home);
    const steps: string[] = [];
    onStep(name => void steps.push(name));
    const waits = () => uns.status().absorb_wait;
    assert.equal(waits(), 0);
    const cps: Cp[] = [];
    for (const n of [1, 2]) {
      cps.push(new Cp(port).send(init(1, password) + set('partial', `${n}`)));
      await until('it waits', () => steps.filter(step => step === 'uns.accepted').length === n);
      await settle();
      clock.advance(1500);
    }
    assert.equal(waits(), 3);
    connectQm();
    for (const cp of cps) assert.match(await cp.reply, /set_accepted/);
    assert.equal(receiver.sets.length, 2);
    assert.equal(waits(), 1.5);
  });

  it('that is being sent when its CP is refused stays, and the Queue Manager gets it all the same', async () => {
    const home = newHome();
    const password = home.addProvider(1);
    const { port, clock, connectQm, uns } = await stage(home);
    const receiver = await receiverOf(home);
    receiver.answer = () => 'hang';
    connectQm();
    const cp = new Cp(port).send(init(1, password) + set('partial', 'a'));
    await receiver.until(({ sets }) => sets.length === 1);
    clock.advance(10_000);
    assert.match(await cp.reply, /set_rejected code="102"/);
    assert.equal(home.spooled().length, 1);
    receiver.answer = () => 'absorbed';
    // The connection that hangs is given up.
    await until('it is given up', () => {
      clock.advance(60_000);
      return !uns.status().qm_connected;
    });
    connectQm();
    await until('the spool has let it go', () => home.spooled().length === 0);
  });

  it('that the Queue Manager refuses is refused to its CP, with the code', async () => {
    const home = newHome();
    const password = home.addProvider(1);
    const { port, connectQm } = await stage(home);
    const receiver = await receiverOf(home);
    receiver.answer = () => 'refused';
    connectQm();
    const cp = new Cp(port).send(init(1, password) + set('partial', 'a'));
    assert.match(await cp.reply, /set_rejected code="1\d\d"/);
  });

  it('of a provider that moves is refused to its CP with 102, and nothing of it is left', async () => {
    const home = newHome();
    const password = home.addProvider(1);
    const { port, connectQm } = await stage(home);
    const receiver = await receiverOf(home);
    receiver.answer = () => 'moves';
    connectQm();
    const cp = new Cp(port).send(init(1, password) + set('partial', 'a'));
    assert.match(await cp.reply, /set_rejected code="102"/);
    await until('the spool has let it go', () => home.spooled().length === 0);
    assert.deepEqual(home.spooled('bad'), []);
  });

  it('that was accepted before there was an engine stays while its provider moves, and is sent again', async () => {
    const home = newHome();
    const password = home.addProvider(1);
    const { port } = await stage(home, 0);
    assert.match(await new Cp(port).send(init(1, password) + set('partial', 'a')).reply, /set_accepted/);
    for (const end of ends.splice(0)) await end();
    const { clock, connectQm } = await stage(home, 1);
    const receiver = await receiverOf(home);
    receiver.answer = ({ head }) => (head.pid === 1 ? 'moves' : 'absorbed');
    connectQm();
    await receiver.until(({ sets }) => sets.length === 1);
    await settle();
    assert.deepEqual([home.spooled().length, home.spooled('bad')], [1, []]);
    receiver.answer = () => 'absorbed';
    await until('it is sent again', () => {
      clock.advance(1000);
      return receiver.sets.length === 2;
    });
    await until('the spool has let it go', () => home.spooled().length === 0);
    assert.deepEqual(home.spooled('bad'), []);
  });
});

describe('a UNS in a kept home that stops', () => {
  it('takes sets that have begun to their end, and their CPs hear that they are accepted', async () => {
    const home = newHome();
    const password = home.addProvider(1);
    const { uns, port, connectQm } = await stage(home);
    const receiver = await receiverOf(home);
    connectQm();
    const whole = set('partial', 'a', 'b');
    const cp = new Cp(port).send(init(1, password) + whole.slice(0, whole.indexOf('b')));
    await cp.hears('init_accepted');
    const stopped = uns.stop();
    await settle();
    assert.doesNotMatch(cp.heard, /rejected/);
    cp.send(whole.slice(whole.indexOf('b')));
    assert.match(await cp.reply, /set_accepted received="2"/);
    await stopped;
    assert.equal(receiver.sets.length, 1);
  });

  it('refuses those that are not at their end, or not absorbed, after three seconds, and keeps none', async () => {
    const home = newHome();
    const password = home.addProvider(1);
    const other = home.addProvider(2);
    const { uns, port, clock } = await stage(home);
    const whole = set('partial', 'a', 'b');
    const slow = new Cp(port).send(init(1, password) + whole.slice(0, whole.indexOf('b')));
    await slow.hears('init_accepted');
    const waits = new Cp(port).send(init(2, other) + whole);
    await until('one lies in the spool', () => home.spooled().length === 1);
    let isStopped = false;
    const stopped = uns.stop().then(() => (isStopped = true));
    await settle();
    clock.advance(2999);
    await settle();
    assert.equal(isStopped, false);
    clock.advance(1);
    for (const { reply } of [slow, waits])
      assert.match(await reply, /set_rejected code="102"[^]*the UNS stops/);
    await stopped;
    assert.deepEqual([home.spooled(), home.spooled('tmp'), home.spooled('bad')], [[], [], []]);
  });
});

describe('a UNS that starts after another machine had the home', () => {
  it('forgets its spool, which nobody was promised, and numbers connections a million above', async () => {
    const home = newHome();
    const password = home.addProvider(1, {}, 'UPDATE pidb SET lastconnseq = 41 WHERE pid = 1');
    const first = await stage(home, 1);
    const cp = new Cp(first.port).send(init(1, password) + set('partial', 'a'));
    await until('a set lies in the spool', () => home.spooled().length === 1);
    cp.socket.destroy();
    // As kill -9 leaves it.
    const left = home.spooled();
    const kept = readFileSync(home.spoolFile('new', left[0] ?? ''));
    for (const end of ends.splice(0)) await end();
    writeFileSync(home.spoolFile('new', left[0] ?? ''), kept);

    await stage(home, 1);
    assert.deepEqual(home.spooled(), left, 'in the same epoch it stays');
    for (const end of ends.splice(0)) await end();
    await stage(home, 3);
    assert.deepEqual(home.spooled(), []);
    for (const end of ends.splice(0)) await end();
    const sessions = new SessionStore(join(home.dir, 'spool/uns/sessions.db'));
    const known = { seq: 41, ip: '192.0.2.1' };
    const { seq, lastIp } = sessions.commit(() => sessions.number({ pid: 1, ip: '', known }));
    sessions.close();
    assert.deepEqual([seq, lastIp], [1_000_042, '192.0.2.1']);
  });

  it('keeps the spool of a home that had no engine so far: it was promised', async () => {
    const home = newHome();
    const password = home.addProvider(1);
    const first = await stage(home, 0);
    void new Cp(first.port).send(init(1, password) + set('partial', 'a'));
    await until('a set lies in the spool', () => home.spooled().length === 1);
    const left = home.spooled();
    const bytes = readFileSync(home.spoolFile('new', left[0] ?? ''));
    for (const end of ends.splice(0)) await end();
    writeFileSync(home.spoolFile('new', left[0] ?? ''), bytes);
    await stage(home, 5);
    assert.deepEqual(home.spooled(), left);
    assert.ok(readdirSync(join(home.dir, 'spool/uns')).includes('epoch'));
  });
});
