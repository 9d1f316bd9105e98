import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { loadConfig } from '../../src/config/load.js';
import { machineMs } from '../../src/daemon/keep-lines.js';
import { KeeperLink, keeperAt } from '../../src/daemon/keeper-link.js';
import { shippedWithin, type Lease } from '../../src/daemon/kept.js';
import { keepConnected } from '../../src/daemon/reconnect.js';
import { systemClock } from '../../src/lib/clock.js';
import { createLog, silentLog } from '../../src/lib/log.js';
import { HeldKeeper } from '../support/held-keeper.js';
import { until } from '../support/until.js';

let home: string;
let keeper: HeldKeeper;
let gate: KeeperLink;
let warnings: string[];

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'lcc-gate-'));
  keeper = await new HeldKeeper(home).open();
  warnings = [];
  const { net } = loadConfig({ env: { LCC_HOME: home }, overrides: {} }).settings;
  const context = { net, clock: systemClock, log: silentLog, servers: new Map(), role: 'keeper' };
  gate = new KeeperLink({
    connect: onConnect => keepConnected(keeperAt(join(home, 'run')), context, onConnect),
    clock: systemClock,
    log: createLog({ name: 'test', level: 'warn', human: false, write: line => void warnings.push(line) }),
  });
});
afterEach(async () => {
  gate.close();
  await keeper.close();
  rmSync(home, { recursive: true });
});

/** True once it has been resolved. */
function watched(work: Promise<unknown>): { isDone: boolean } {
  const state = { isDone: false };
  void work.then(() => (state.isDone = true));
  return state;
}
const isLost = { name: 'LccError', code: 'try.later' };

describe('the gate of a kept home', () => {
  it('opens when the keeper has said that all is shipped, and not before', async () => {
    keeper.hold();
    const state = watched(gate.shipped('lcc'));
    await keeper.holds('lcc');
    assert.equal(state.isDone, false);
    keeper.release();
    await until('the gate opens', () => state.isDone);
  });

  it('asks once for all that wait in one turn, and once more for all that came while it was asked', async () => {
    keeper.hold();
    const first = Promise.all([gate.shipped('lcc'), gate.shipped('lcc'), gate.shipped('rs')]);
    await keeper.holds('lcc');
    await keeper.holds('rs');
    assert.deepEqual(keeper.asked, ['lcc', 'rs']);

    const later = watched(Promise.all(Array.from({ length: 100 }, () => gate.shipped('lcc'))));
    await new Promise(resolve => void setImmediate(resolve));
    assert.deepEqual(keeper.asked, ['lcc', 'rs']);
    keeper.release();
    keeper.hold();
    await first;
    await keeper.holds('lcc');
    assert.equal(
      later.isDone,
      false,
      'what was committed after the first question waits for an answer of its own',
    );
    keeper.release();
    await until('the second opens', () => later.isDone);
    assert.deepEqual(keeper.asked, ['lcc', 'rs', 'lcc']);
  });

  it('asks again what was lost with its connection', async () => {
    keeper.hold();
    const asked = watched(gate.shipped('lcc'));
    await keeper.holds('lcc');
    keeper.cut();
    await keeper.holds('lcc');
    assert.equal(asked.isDone, false);
    keeper.release();
    await until('the gate opens', () => asked.isDone);
  });

  it('asks a keeper that comes later', async () => {
    await keeper.close();
    const asked = watched(gate.shipped('clear'));
    keeper = await new HeldKeeper(home).open();
    await until('the gate opens', () => asked.isDone);
  });

  it('never opens for what will not be in the engine: each that waits is told so', async () => {
    keeper.hold();
    const first = gate.shipped('lcc');
    await keeper.holds('lcc');
    const second = gate.shipped('lcc');
    keeper.refuse('h2 has it');
    await assert.rejects(first, { ...isLost, message: /h2 has it/ });
    await keeper.holds('lcc');
    keeper.tell({ word: 'standby', owner: 'h2' });
    await assert.rejects(second, { ...isLost, message: /served by h2/ });
  });

  it('tells how the lease stands, by the clock of this process, at first and with each change', async () => {
    const told: Lease[] = [];
    gate.watch(lease => void told.push(lease));
    await until('the first', () => told.length === 1);
    keeper.tell({ word: 'owner', epoch: 7, untilMs: machineMs() + 5000 });
    await until('the second', () => told.length === 2);
    const [, second] = told;
    assert.ok(second?.state === 'owner' && second.epoch === 7);
    const leftMs = second.untilMs - systemClock.monotonicMs();
    assert.ok(leftMs > -60_000 && leftMs <= 5001, `${leftMs} ms`);
    keeper.tell({ word: 'standby', owner: '' });
    await until('the third', () => told.length === 3);
    assert.deepEqual(gate.lease, { state: 'standby', owner: '' });
  });

  it('waits no longer than it may where that is bounded', async () => {
    keeper.hold();
    await assert.rejects(shippedWithin(gate, 'lcc', systemClock, 1), isLost);
  });

  it('closes a connection that says what nobody asked for, and asks on the next', async () => {
    keeper.hold();
    const asked = watched(gate.shipped('lcc'));
    await keeper.holds('lcc');
    keeper.tell({ word: 'shipped', id: 999 });
    keeper.lease = { word: 'owner', epoch: 1, untilMs: machineMs() };
    await until('it was noted', () => warnings.length > 0);
    assert.match(warnings.join(), /keeper not understood.*999/);
    await until('it is asked again', () => keeper.asked.length === 2);
    assert.equal(asked.isDone, false);
    keeper.release();
    await until('the gate opens', () => asked.isDone);
  });
});
