import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { OrderStore } from '../../src/db/order.js';
import { ManualClock } from '../../src/lib/clock.js';
import { silentLog } from '../../src/lib/log.js';
import { parseLabel, type EntryLabel } from '../../src/uns/label.js';
import { Turns } from '../../src/uns/turns.js';

const root = mkdtempSync(join(tmpdir(), 'lcc-turns-'));
after(() => rmSync(root, { recursive: true }));
let homes = 0;
const WAIT_MS = 60_000;

/** UNSes over one home; every one has its spool folder and has started. */
function unses(clock: ManualClock, waitMs: number, ...names: string[]): Turns[] {
  const home = join(root, String(++homes));
  for (const name of names) mkdirSync(join(home, name, 'new'), { recursive: true });
  return names.map(name => {
    const order = new OrderStore(join(home, 'order.db'), name);
    const turns = new Turns({ order, clock, log: silentLog, waitMs });
    turns.agree(home);
    return turns;
  });
}

function accept(turns: Turns, pid = 7): EntryLabel {
  const [label = ''] = turns.finish([`${pid}.1.partial.1.0`]);
  return parseLabel(label) ?? assert.fail(label);
}

describe('a UNS', () => {
  it('leaves a set until another has handed over the earlier ones of the provider', () => {
    const clock = new ManualClock();
    const [a, b] = unses(clock, WAIT_MS, 'a', 'b') as [Turns, Turns];
    const [first, elsewhere, second] = [accept(a), accept(b, 8), accept(b)];
    assert.deepEqual([a.isNext(first), b.isNext(elsewhere), b.isNext(second)], [true, true, false]);
    assert.deepEqual(b.heldUp(3), {
      count: 1,
      some: [{ pid: 7, uns: 'a', until_ms: clock.nowMs() + WAIT_MS }],
    });
    assert.deepEqual(b.heldUp(0), { count: 1, some: [] });
    a.done(first);
    clock.advance(100);
    assert.equal(b.isNext(second), true);
    assert.deepEqual(b.heldUp(3), { count: 0, some: [] });
  });

  it('waits for one that lives as long as it takes, and for one that is away only so long', () => {
    const clock = new ManualClock();
    const [a, b] = unses(clock, WAIT_MS, 'a', 'b') as [Turns, Turns];
    accept(a);
    const second = accept(b);
    b.handOver(() => true);
    const leave = a.handOver(() => true);
    const waited = () => {
      for (let ms = 0; ms < WAIT_MS - 1000; ms += 500) {
        clock.advance(500);
        if (b.isNext(second)) return true;
      }
      return false;
    };
    for (let round = 0; round < 5; round++) assert.equal(waited(), false, 'it shows that it lives');
    leave();
    assert.equal(waited(), false);
    clock.advance(2000);
    assert.equal(b.isNext(second), true, 'its time is up');
    a.handOver(() => true);
    const third = accept(b);
    clock.advance(1000);
    assert.equal(b.isNext(third), false, 'it is back, and waited for again');
  });

  it('says in whole milliseconds until when, whatever the clock has', () => {
    const clock = new ManualClock();
    clock.advance(0.3);
    const [a, b] = unses(clock, WAIT_MS, 'a', 'b') as [Turns, Turns];
    accept(a);
    assert.equal(b.isNext(accept(b)), false);
    assert.deepEqual(
      b.heldUp(1).some.map(({ until_ms: untilMs }) => Number.isInteger(untilMs)),
      [true],
    );
  });

  it('says once which UNS it waits for, when that should have shown itself and has not', () => {
    const clock = new ManualClock();
    const home = join(root, 'said');
    const said: unknown[] = [];
    const log = { ...silentLog, warn: (event: string, more?: object) => void said.push({ event, ...more }) };
    const [a, b] = ['a', 'b'].map(name => {
      mkdirSync(join(home, name, 'new'), { recursive: true });
      const order = new OrderStore(join(home, 'order.db'), name);
      const turns = new Turns({ order, clock, log, waitMs: WAIT_MS });
      turns.agree(home);
      return turns;
    }) as [Turns, Turns];
    accept(a);
    const second = accept(b);
    assert.equal(b.isNext(second), false);
    assert.deepEqual(said, []);
    for (let look = 0; look < 10; look++) {
      clock.advance(1000);
      assert.equal(b.isNext(second), false);
    }
    const event = 'sets wait for another UNS, which does not show itself';
    assert.deepEqual(said, [{ event, uns: 'a', pid: 7, silent_ms: 2000, order_wait_ms: WAIT_MS }]);
  });

  it('does not count the time for which it had no Queue Manager itself', () => {
    const clock = new ManualClock();
    const [a, b] = unses(clock, WAIT_MS, 'a', 'b') as [Turns, Turns];
    accept(a);
    const second = accept(b);
    const lost = b.handOver(() => true);
    assert.equal(b.isNext(second), false);
    lost();
    clock.advance(10 * WAIT_MS);
    b.handOver(() => true);
    assert.equal(b.isNext(second), false);
    clock.advance(WAIT_MS);
    assert.equal(b.isNext(second), true);
  });

  it('starts to wait afresh when another accepts something, however long that was silent', () => {
    const clock = new ManualClock();
    const [a, b] = unses(clock, WAIT_MS, 'a', 'b') as [Turns, Turns];
    b.handOver(() => true);
    const first = accept(a);
    const second = accept(b);
    assert.equal(b.isNext(second), false);
    a.done(first);
    clock.advance(100 * WAIT_MS);
    assert.equal(b.isNext(second), true);
    b.done(second);
    accept(a);
    const fourth = accept(b);
    assert.equal(b.isNext(fourth), false);
  });

  it('waits for all that are away at the same time, not for one after the other', () => {
    const clock = new ManualClock();
    const [a, b, c] = unses(clock, WAIT_MS, 'a', 'b', 'c') as [Turns, Turns, Turns];
    accept(a);
    accept(b);
    const third = accept(c);
    assert.equal(c.isNext(third), false);
    clock.advance(WAIT_MS);
    assert.equal(c.isNext(third), true);
  });

  it('waits for nobody when it is told to', () => {
    const clock = new ManualClock();
    const [a, b] = unses(clock, 0, 'a', 'b') as [Turns, Turns];
    accept(a);
    assert.equal(b.isNext(accept(b)), true);
  });

  it('sends what an earlier release spooled without a number', () => {
    const clock = new ManualClock();
    const [a, b] = unses(clock, WAIT_MS, 'a', 'b') as [Turns, Turns];
    accept(a);
    for (const old of ['7.1.full.2', '7.1.full.2.0']) assert.equal(b.isNext(parseLabel(old)), true, old);
  });

  it('learns the order from the names in all spools when it starts', () => {
    const clock = new ManualClock();
    const home = join(root, 'names');
    for (const [uns, n] of [
      ['a', 4],
      ['b', 5],
    ] as const) {
      mkdirSync(join(home, uns, 'new'), { recursive: true });
      writeFileSync(join(home, uns, 'new', `000000000000001-7.1.full.2.0.${n}`), '');
    }
    const order = new OrderStore(join(home, 'order.db'), 'b');
    const b = new Turns({ order, clock, log: silentLog, waitMs: WAIT_MS });
    b.agree(home);
    assert.equal(b.isNext(parseLabel('7.1.full.2.0.5')), false);
    assert.deepEqual(order.waiting(7), { sets: 2, urls: 4, fullSets: 2 });
    assert.equal(accept(b).order, 6);
  });
});
