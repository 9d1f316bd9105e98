import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Distributor, type Task, type Worker } from '../../src/bm/distribute.js';
import { amount } from '../support/long.js';

class Recorder implements Worker<Task> {
  readonly begun: Task[] = [];
  /** Tasks in the order in which their turns came. */
  readonly turns: number[] = [];
  slots: number;
  constructor(slots: number) {
    this.slots = slots;
  }
  give(task: Task): void {
    this.begun.push(task);
  }
  /** Lanes recalled, and what of each it had. */
  readonly recalls: [string, number[]][] = [];
  turn({ number }: Task): void {
    this.turns.push(number);
  }
  recall(lane: string, tasks: readonly Task[]): void {
    this.recalls.push([lane, tasks.map(({ number }) => number)]);
  }
  get numbers(): number[] {
    return this.begun.map(task => task.number);
  }
}

const task = (number: number, lane: string): Task => ({ number, lane });
const again = () => true;

describe('the distributor', () => {
  it('does one task of a lane at a time, in order, and other lanes beside it', () => {
    const distributor = new Distributor<Task>(1, again);
    const worker = new Recorder(10);
    distributor.join(worker);
    for (const [number, lane] of [
      [1, 'a'],
      [2, 'a'],
      [3, 'b'],
      [4, 'a'],
    ] as const) {
      distributor.add(task(number, lane));
    }
    assert.deepEqual(worker.numbers, [1, 3]);
    distributor.finish(worker, 1);
    distributor.pump();
    assert.deepEqual(worker.numbers, [1, 3, 2]);
    distributor.finish(worker, 3);
    distributor.finish(worker, 2);
    distributor.pump();
    assert.deepEqual(worker.numbers, [1, 3, 2, 4]);
    distributor.finish(worker, 4);
    assert.equal(distributor.lanes, 0, 'nothing is kept of a lane that is done');
  });

  it('never gives a worker more than its slots, and takes up what waits when slots come', () => {
    const distributor = new Distributor<Task>(1, again);
    const worker = new Recorder(2);
    distributor.join(worker);
    for (let i = 1; i <= 5; i++) distributor.add(task(i, String(i)));
    assert.deepEqual([worker.begun.length, distributor.waiting], [2, 3]);
    worker.slots = 4;
    distributor.pump();
    assert.deepEqual([worker.begun.length, distributor.waiting], [4, 1]);
  });

  it('gives nothing before its turn while told so, and has what was given ahead handed back', () => {
    const distributor = new Distributor<Task>(3, again);
    const worker = new Recorder(2);
    distributor.join(worker);
    assert.equal(distributor.capacity, 6);
    for (let i = 1; i <= 5; i++) distributor.add(task(i, 'a'));
    assert.deepEqual(worker.numbers, [1, 2, 3]);
    distributor.giveAhead(false);
    distributor.giveAhead(false);
    assert.deepEqual(worker.recalls, [['a', [1, 2, 3]]]);
    for (const number of [1, 2, 3]) {
      distributor.finish(worker, number);
      distributor.pump();
    }
    assert.deepEqual(worker.numbers, [1, 2, 3, 4]);
    distributor.finish(worker, 4);
    distributor.pump();
    assert.deepEqual(worker.numbers, [1, 2, 3, 4, 5]);
    distributor.add(task(6, 'a'));
    distributor.giveAhead(true);
    distributor.pump();
    assert.deepEqual(worker.numbers, [1, 2, 3, 4, 5, 6]);
    assert.equal(worker.recalls.length, 1);
  });

  it('gives a vanished worker’s tasks to others, in front of their lanes', () => {
    const distributor = new Distributor<Task>(1, again);
    const first = new Recorder(2);
    distributor.join(first);
    for (const [number, lane] of [
      [1, 'a'],
      [2, 'a'],
      [3, 'b'],
      [4, 'c'],
    ] as const) {
      distributor.add(task(number, lane));
    }
    distributor.leave(first);
    assert.equal(distributor.waiting, 4, 'without workers everything waits');
    const second = new Recorder(3);
    distributor.join(second);
    assert.deepEqual(second.numbers, [1, 3, 4]);
    distributor.finish(second, 1);
    distributor.pump();
    assert.deepEqual(second.numbers, [1, 3, 4, 2]);
  });

  it('forgets a vanished worker’s task that is not to be done again, and goes on with its lane', () => {
    const distributor = new Distributor<Task>(1, () => false);
    const first = new Recorder(1);
    const second = new Recorder(1);
    distributor.join(first);
    distributor.add(task(1, 'a'));
    distributor.add(task(2, 'a'));
    distributor.join(second);
    distributor.leave(first);
    assert.deepEqual(second.numbers, [2]);
  });

  it('prefers the worker that did the lane’s last task', () => {
    const distributor = new Distributor<Task>(1, again);
    const small = new Recorder(1);
    const big = new Recorder(100);
    distributor.join(small);
    for (const number of [1, 2, 3]) distributor.add(task(number, 'a'));
    distributor.join(big);
    distributor.finish(small, 1);
    distributor.pump();
    assert.deepEqual(small.numbers, [1, 2]);
  });

  it('spreads lanes over workers by their free slots', () => {
    const distributor = new Distributor<Task>(1, again);
    const one = new Recorder(2);
    const two = new Recorder(4);
    distributor.join(one);
    distributor.join(two);
    for (let i = 1; i <= 6; i++) distributor.add(task(i, String(i)));
    assert.deepEqual([one.begun.length, two.begun.length], [2, 4]);
  });

  it('gives back what has not begun', () => {
    const distributor = new Distributor<Task>(1, again);
    const worker = new Recorder(1);
    distributor.join(worker);
    for (let i = 1; i <= 4; i++) distributor.add(task(i, i < 3 ? 'a' : 'b'));
    assert.deepEqual(
      distributor.withdraw(({ number }) => number !== 3).map(({ number }) => number),
      [2, 4],
    );
    distributor.finish(worker, 1);
    distributor.pump();
    assert.deepEqual(worker.numbers, [1, 3]);
    assert.deepEqual([distributor.waiting, distributor.given], [0, 1]);
  });

  it('recalls a lane: what waits is taken out, its worker hears of the rest, other lanes stay', () => {
    const distributor = new Distributor<Task>(2, again);
    const worker = new Recorder(2);
    distributor.join(worker);
    for (let i = 1; i <= 8; i++) distributor.add(task(i, i % 2 === 1 ? 'a' : 'b'));
    const taken = distributor.recall(() => true, 'a');
    assert.deepEqual(
      taken.map(({ number }) => number),
      [5, 7],
    );
    assert.deepEqual(worker.recalls, [['a', [1, 3]]]);
    assert.deepEqual([distributor.given, distributor.waiting], [4, 2]);
    assert.equal(distributor.taskOf(worker, 3)?.number, 3);
    for (const number of [3, 1]) distributor.finish(worker, number);
    assert.equal(distributor.taskOf(worker, 3), undefined);
    assert.equal(distributor.lanes, 1, 'nothing is kept of the lane');
    assert.deepEqual(
      distributor.recall(() => true, 'a'),
      [],
    );
    assert.deepEqual(
      distributor.recall(({ number }) => number === 6).map(({ number }) => number),
      [6],
      'of all lanes when none is named',
    );
    assert.equal(worker.recalls.length, 1, 'nothing of the others was wanted');
  });

  it('has room for workers that are done at once, however much waits', () => {
    const distributor = new Distributor<Task>(1, again);
    for (let i = 1; i <= 20_000; i++) distributor.add(task(i, String(i % 7)));
    let done = 0;
    const worker: Worker<Task> = {
      slots: 2,
      turn: () => undefined,
      recall: () => undefined,
      give(begun) {
        done++;
        distributor.finish(worker, begun.number);
        distributor.pump();
      },
    };
    distributor.join(worker);
    assert.equal(done, 20_000);
    assert.equal(distributor.lanes, 0);
  });

  it('knows no task that its worker does not have', () => {
    const distributor = new Distributor<Task>(1, again);
    const worker = new Recorder(1);
    const other = new Recorder(0);
    distributor.join(worker);
    distributor.join(other);
    distributor.add(task(1, 'a'));
    assert.equal(distributor.finish(other, 1), undefined);
    assert.equal(distributor.finish(worker, 2), undefined);
    assert.equal(distributor.finish(worker, 1)?.number, 1);
    assert.equal(distributor.finish(worker, 1), undefined);
  });

  it('gives a window of a lane to one worker, and the next as each is done', () => {
    const distributor = new Distributor<Task>(3, again);
    const worker = new Recorder(1);
    const other = new Recorder(1);
    distributor.join(worker);
    for (let i = 1; i <= 5; i++) distributor.add(task(i, 'a'));
    distributor.join(other);
    assert.deepEqual([worker.numbers, other.numbers, distributor.waiting], [[1, 2, 3], [], 2]);
    distributor.finish(worker, 2);
    distributor.pump();
    assert.deepEqual(worker.numbers, [1, 2, 3, 4]);
    assert.deepEqual(worker.turns, [1], 'the first is not done yet');
    distributor.finish(worker, 1);
    assert.deepEqual(worker.turns, [1, 3], 'the second was');
    assert.equal(distributor.turnOf(worker, () => true)?.number, 3);
  });

  it('gives a lane nothing more while others wait for a slot, so that each has its turn', () => {
    const distributor = new Distributor<Task>(2, again);
    const worker = new Recorder(1);
    distributor.join(worker);
    for (let i = 1; i <= 4; i++) distributor.add(task(i, 'a'));
    for (let i = 11; i <= 13; i++) distributor.add(task(i, 'b'));
    const order = [];
    for (let next = worker.begun.shift(); next !== undefined; next = worker.begun.shift()) {
      order.push(next.number);
      distributor.finish(worker, next.number);
      distributor.pump();
    }
    assert.deepEqual(order, [1, 2, 11, 12, 3, 4, 13]);
    assert.equal(distributor.lanes, 0);
  });

  it('gives a vanished worker’s window to others in its old order, and blames only what can have begun', () => {
    const begun: [number, boolean][] = [];
    const distributor = new Distributor<Task>(3, ({ number }, hadBegun) => {
      begun.push([number, hadBegun]);
      return number !== 2;
    });
    const first = new Recorder(1);
    const second = new Recorder(1);
    distributor.join(first);
    for (let i = 1; i <= 5; i++) distributor.add(task(i, 'a'));
    distributor.finish(first, 1);
    distributor.pump();
    distributor.join(second);
    distributor.leave(first);
    assert.deepEqual(begun, [
      [2, true],
      [3, false],
      [4, false],
    ]);
    assert.deepEqual(second.numbers, [3, 4, 5]);
  });

  it('gives nothing more in the lanes of a worker that has fewer slots now', () => {
    const distributor = new Distributor<Task>(2, again);
    const worker = new Recorder(2);
    distributor.join(worker);
    for (let i = 1; i <= 4; i++) distributor.add(task(i, 'a'));
    worker.slots = 0;
    distributor.finish(worker, 1);
    distributor.pump();
    distributor.finish(worker, 2);
    distributor.pump();
    assert.deepEqual([worker.numbers, distributor.given, distributor.waiting], [[1, 2], 0, 2]);
    worker.slots = 1;
    distributor.pump();
    assert.deepEqual(worker.numbers, [1, 2, 3, 4]);
  });

  it('keeps lanes, order, slots, windows and counts through anything that happens', () => {
    const event = fc.record({
      what: fc.constantFrom('add', 'add', 'add', 'add', 'finish', 'finish', 'join', 'leave', 'slots', 'drop'),
      pick: fc.nat(1000),
    });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), fc.array(event, { maxLength: 200 }), (window, events) => {
        const distributor = new Distributor<Task>(window, again);
        const workers: Checked[] = [];
        /** Not done, by lane and in order; the first `given.get(lane)` of each are at a worker. */
        const order = new Map<string, number[]>();
        const holders = new Map<string, Checked>();
        const given = new Map<number, Task>();
        const givenIn = (lane: string) => [...given.values()].filter(task => task.lane === lane);
        class Checked extends Recorder {
          override give(begun: Task): void {
            const before = givenIn(begun.lane);
            const holder = holders.get(begun.lane);
            assert.ok(before.length === 0 || holder === this, 'a lane at two workers');
            assert.ok(before.length < window, 'more than its window');
            const missing = order.get(begun.lane)?.find(number => !given.has(number));
            assert.equal(begun.number, missing, 'out of order');
            given.set(begun.number, begun);
            holders.set(begun.lane, this);
            const lanes = [...holders].filter(([lane, by]) => by === this && givenIn(lane).length > 0);
            if (before.length === 0) assert.ok(lanes.length <= this.slots, 'more lanes than its slots');
          }
          override turn({ number, lane }: Task): void {
            assert.ok(order.get(lane)?.[0] === number, 'a turn before its turn');
            super.turn({ number, lane });
          }
        }
        let added = 0;
        for (const { what, pick } of events) {
          const worker = workers[pick % Math.max(1, workers.length)];
          if (what === 'add') {
            const lane = String(pick % 4);
            order.set(lane, [...(order.get(lane) ?? []), ++added]);
            distributor.add(task(added, lane));
          } else if (what === 'join') {
            const joining = new Checked(pick % 3);
            workers.push(joining);
            distributor.join(joining);
          } else if (what === 'finish') {
            const [number, entry] = [...given][pick % Math.max(1, given.size)] ?? [];
            const holder = holders.get(entry?.lane ?? '');
            if (number === undefined || entry === undefined || holder === undefined) continue;
            given.delete(number);
            order.set(entry.lane, order.get(entry.lane)?.filter(other => other !== number) ?? []);
            assert.equal(distributor.finish(holder, number), entry);
            distributor.pump();
          } else if (what === 'drop') {
            for (const { number, lane } of distributor.withdraw(({ number }) => number % 3 === pick % 3)) {
              assert.ok(!given.has(number), 'taken from a worker');
              order.set(lane, order.get(lane)?.filter(other => other !== number) ?? []);
            }
          } else if (worker !== undefined && what === 'leave') {
            workers.splice(workers.indexOf(worker), 1);
            for (const { number, lane } of given.values()) {
              if (holders.get(lane) === worker) given.delete(number);
            }
            distributor.leave(worker);
          } else if (worker !== undefined && what === 'slots') {
            worker.slots += 1;
            distributor.pump();
          }
          assert.equal(distributor.given, given.size);
          const unfinished = [...order.values()].reduce((sum, lane) => sum + lane.length, 0);
          assert.equal(distributor.waiting + distributor.given, unfinished);
          for (const [lane, numbers] of order) {
            const oldest = numbers.find(number => given.has(number));
            if (oldest === undefined) continue;
            const turn =
              holders.get(lane) && distributor.turnOf(holders.get(lane)!, task => task.lane === lane);
            assert.equal(turn?.number, oldest);
            assert.ok(holders.get(lane)?.turns.includes(oldest), 'its turn was not told');
          }
        }
        // With slots for everyone every lane is at a worker, and every window full.
        distributor.join(new Checked(100));
        for (const [lane, numbers] of order) {
          assert.equal(givenIn(lane).length, Math.min(window, numbers.length));
        }
      }),
      { numRuns: amount(60, 300) },
    );
  });
});
