/**
 * A Queue Manager in a kept home: what it commits is told when it is in the engine, and without a lease it sends nothing.
 */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { afterEach, describe, it } from 'node:test';
import { OPEN_GATE } from '../../src/daemon/kept.js';
import { LccError } from '../../src/lib/errors.js';
import { silentLog } from '../../src/lib/log.js';
import { onStep } from '../../src/lib/steps.js';
import { LogBrake } from '../../src/qm/log-brake.js';
import { SendingRight } from '../../src/qm/sending-right.js';
import { takeOver } from '../../src/qm/take-over.js';
import { formatRsAsk } from '../../src/wire/qm-rs.js';
import { HeldGate } from '../support/held-gate.js';
import { ManualClock } from '../support/manual-clock.js';
import { Uns } from '../support/queue-manager.js';
import { pages, stored } from './schedule-trials.js';
import { Bench, url } from './support.js';
import { Whole } from './whole.js';

let qm: Whole | undefined;
afterEach(async () => {
  onStep(() => undefined);
  await qm?.close();
  qm = undefined;
});

async function start(gate = new HeldGate()): Promise<{ whole: Whole; gate: HeldGate }> {
  const whole = (qm = new Whole());
  await whole.start({}, gate);
  return { whole, gate };
}

const rows = (whole: Whole, sql: string) => Number(whole.value(`SELECT count(*) FROM ${sql}`));
/** A second goes by, with all that happens in it. */
const aMoment = (whole: Whole) => whole.pass(1000);

describe('a Queue Manager in a kept home', () => {
  it('answers a UNS when the set is in the engine, and not before', async () => {
    const { whole, gate } = await start();
    const steps: string[] = [];
    onStep(name => void steps.push(name));
    gate.hold();
    const uns = new Uns(whole);
    let answered: boolean | undefined;
    void uns.set('e1', [url('a')]).then(is => (answered = is));
    await whole.until(() => gate.waiting > 0 || answered !== undefined);
    await aMoment(whole);
    assert.equal(rows(whole, 'absorbed WHERE complete'), 1, 'it is committed');
    assert.equal(answered, undefined);
    assert.ok(!steps.includes('qm.gate.opened'));
    gate.release();
    await whole.until(() => answered !== undefined);
    assert.equal(answered, true);
    assert.ok(steps.includes('qm.gate.opened'));
    uns.socket.destroy();
  });

  it('answers nothing of what will not be in the engine', async () => {
    const { whole, gate } = await start();
    gate.hold();
    const uns = new Uns(whole);
    let answered: boolean | undefined;
    void uns.set('e1', [url('a')]).then(is => (answered = is));
    await whole.until(() => gate.waiting > 0 || answered !== undefined);
    gate.refuse(new LccError('try.later', 'another machine has it'));
    await whole.until(() => answered !== undefined);
    assert.equal(answered, false, 'the connection closes without an answer');
  });

  it('has a file deleted when the row that let go of it is in the engine, and not before', async () => {
    const { whole, gate } = await start();
    const bm = whole.bm(4, stored);
    await whole.send(7, pages(1));
    await whole.until(() => rows(whole, 'lccurl') === 1);
    await aMoment(whole);
    gate.hold();
    const uns = new Uns(whole, 'u2');
    void uns.set('e2', [url('p0', { op: 'delete' })]);
    await whole.until(() => gate.waiting > 0 || bm.deletes.length > 0);
    await aMoment(whole);
    assert.equal(rows(whole, 'freed'), 1, 'it is committed');
    assert.deepEqual(bm.deletes, []);
    gate.release();
    await whole.until(() => bm.deletes.length === 1);
    uns.socket.destroy();
  });

  it('answers a control that has changed something when that is in the engine, and others at once', async () => {
    const { whole, gate } = await start();
    gate.hold();
    let paused: unknown;
    void Promise.resolve(whole.control('pause', '7')).then(answer => (paused = answer));
    await whole.until(() => gate.waiting > 0 || paused !== undefined);
    await aMoment(whole);
    assert.equal(paused, undefined);
    assert.deepEqual(whole.control('fetching'), []);
    gate.release();
    await whole.until(() => paused !== undefined);
    assert.deepEqual(paused, { providers: 1, changed: 1 });
  });

  it('answers a Registration Server when what it asked for is in the engine', async () => {
    const { whole, gate } = await start();
    gate.hold();
    const socket = connect(whole.rsPath);
    let said = '';
    socket.setEncoding('utf8').on('data', (text: string) => void (said += text));
    socket.write(formatRsAsk({ op: 'show', pid: 7 }));
    await whole.until(() => gate.waiting > 0 || said !== '');
    await aMoment(whole);
    assert.equal(said, '');
    gate.release();
    await whole.until(() => said.endsWith('\n'));
    assert.match(said, /^\{"ok":/);
    socket.destroy();
  });

  it('past its lease it sends nothing and calls back all that is on its way; it goes on when the lease is back', async () => {
    const gate = new HeldGate();
    const { whole } = await start(gate);
    const bm = whole.bm(1, request => (request.url.endsWith('p0') ? stored(request) : undefined));
    await whole.send(7, pages(3));
    await whole.until(() => bm.fetches.length > 0);
    gate.tell({ state: 'owner', epoch: 1, untilMs: whole.clock.monotonicMs() + 500 });
    await whole.until(() => bm.givenUp.length > 0);
    const before = bm.fetches.length;
    for (const { id } of bm.fetches.slice(1)) bm.peer.fetched({ id, status: 'recalled' });
    await whole.send(8, pages(2));
    await aMoment(whole);
    assert.equal(bm.fetches.length, before, 'nothing is sent');
    gate.tell({ state: 'owner', epoch: 1, untilMs: Infinity });
    await whole.until(() => bm.fetches.length > before);
  });
});

describe('the right to send', () => {
  it('is over when its time is, by the clock alone: a process that was stopped finds it so', () => {
    const clock = new ManualClock();
    const gate = new HeldGate();
    gate.lease = undefined;
    const told: string[] = [];
    const right = new SendingRight({
      kept: gate,
      // No timer fires before something is sent.
      clock: { monotonicMs: () => clock.monotonicMs(), nowMs: () => 0, after: () => () => undefined },
      log: silentLog,
      lapsed: () => void told.push('lapsed'),
      regained: () => void told.push('regained'),
      graceMs: 1,
      letGo: () => void told.push('let go'),
    });
    right.start();
    assert.equal(right.isHeld, false, 'nothing was told yet');
    gate.tell({ state: 'owner', epoch: 1, untilMs: 100 });
    assert.equal(right.isHeld, true);
    clock.advance(100);
    assert.equal(right.isHeld, false);
    gate.tell({ state: 'owner', epoch: 1, untilMs: 300 });
    assert.equal(right.isHeld, true);
    gate.tell({ state: 'standby', owner: 'h2' });
    assert.equal(right.isHeld, false);
    assert.deepEqual(told, ['regained', 'lapsed']);
  });

  it('is always there without an engine', () => {
    const parts = { clock: new ManualClock(), log: silentLog, lapsed: () => {}, regained: () => {} };
    const right = new SendingRight({ kept: OPEN_GATE, ...parts, graceMs: 1, letGo: () => {} });
    assert.equal(right.isHeld, true);
  });

  it('lets Bot Managers look for another machine when it has not come back for a while', () => {
    const clock = new ManualClock();
    const gate = new HeldGate();
    const told: string[] = [];
    const right = new SendingRight({
      kept: gate,
      clock,
      log: silentLog,
      lapsed: () => void told.push('lapsed'),
      regained: () => void told.push('regained'),
      graceMs: 50,
      letGo: () => void told.push('let go'),
    });
    gate.lease = { state: 'owner', epoch: 1, untilMs: 100 };
    right.start();
    clock.advance(149);
    gate.tell({ state: 'owner', epoch: 1, untilMs: 200 });
    clock.advance(100);
    assert.deepEqual(told, ['regained', 'lapsed', 'regained', 'lapsed'], 'it came back in time');
    gate.tell({ state: 'owner', epoch: 1, untilMs: 200 });
    clock.advance(1);
    assert.deepEqual(told.slice(4), ['let go']);
  });
});

describe('the log of a kept database', () => {
  function brake(gate: HeldGate) {
    const clock = new ManualClock();
    const log = { logPages: 0, isMoved: false };
    return { clock, log, brake: new LogBrake({ kept: gate, checkpoints: log, clock, mostPages: 100 }) };
  }
  const turns = async () => {
    for (let n = 0; n < 5; n++) await new Promise(resolve => void setImmediate(resolve));
  };

  it('at its length keeps all commits waiting until the engine has it and it has been moved', async () => {
    const gate = new HeldGate();
    const { clock, log, brake: held } = brake(gate);
    held.committed();
    assert.equal(held.isOn, false);
    gate.hold();
    log.logPages = 100;
    held.committed();
    assert.equal(held.isOn, true);
    let isOff = false;
    void held.off().then(() => (isOff = true));
    clock.advance(60_000);
    await turns();
    assert.equal(isOff, false, 'the engine has not taken it, however long that takes');
    gate.release();
    log.isMoved = true;
    await turns();
    assert.equal(isOff, true);
    assert.equal(held.isOn, false);
  });

  it('that a reader holds makes them wait two seconds at most, and again only when it is much longer', async () => {
    const gate = new HeldGate();
    const { clock, log, brake: held } = brake(gate);
    log.logPages = 100;
    held.committed();
    await turns();
    for (let passed = 0; passed < 2000; passed += 20) {
      assert.equal(held.isOn, true);
      clock.advance(20);
      await turns();
    }
    assert.equal(held.isOn, false);
    log.logPages = 200;
    held.committed();
    assert.equal(held.isOn, false);
    log.logPages = 100 + 16_384;
    held.committed();
    assert.equal(held.isOn, true);
    log.isMoved = true;
    clock.advance(20);
    await turns();
  });
});

describe('the first start after another machine had the home', () => {
  it('fetches what was taken of sets that never come again, and carries no removal of them out', async t => {
    const bench = new Bench({ sliceUrls: 1 });
    bench.provider(7);
    t.after(() => bench.close());
    const home = { home: { db: bench.path }, told: new AbortController().signal } as const;
    const gate = new HeldGate();
    const services = { ...home, kept: () => gate } as unknown as Parameters<typeof takeOver>[1];
    const open = async (entry: string) => {
      const set = await bench.intake.begin('u1', bench.head(7, 5, { entry, set: 'full' }));
      set.urls([url('a'), url('b'), url('c')]);
      set.cut();
    };
    await takeOver(bench.store, services, silentLog);
    await open('e1');
    await takeOver(bench.store, services, silentLog);
    assert.equal(bench.store.absorb.sets.open().length, 1, 'in the same epoch it comes again');

    gate.lease = { state: 'owner', epoch: 2, untilMs: Infinity };
    await takeOver(bench.store, services, silentLog);
    assert.deepEqual(bench.store.absorb.sets.open(), []);
    assert.deepEqual([...bench.store.queue.providers()], [7], 'its urls are seen');
    await open('e2');
    await takeOver(bench.store, services, silentLog);
    assert.equal(bench.store.absorb.sets.open().length, 1, 'what came since is of this epoch');
  });
});
