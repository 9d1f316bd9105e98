import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Distributor, type Task, type Worker } from '../../src/bm/distribute.js';

class Recorder implements Worker<Task> {
  readonly begun: Task[] = [];
  slots: number;
  constructor(slots: number) {
    this.slots = slots;
  }
  begin(task: Task): void {
    this.begun.push(task);
  }
  get numbers(): number[] {
    return this.begun.map(task => task.number);
  }
}

const task = (number: number, lane: string): Task => ({ number, lane });
const again = () => true;

describe('the distributor', () => {
  it('does one task of a lane at a time, in order, and other lanes beside it', () => {
    const distributor = new Distributor<Task>(again);
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
    const distributor = new Distributor<Task>(again);
    const worker = new Recorder(2);
    distributor.join(worker);
    for (let i = 1; i <= 5; i++) distributor.add(task(i, String(i)));
    assert.deepEqual([worker.begun.length, distributor.waiting], [2, 3]);
    worker.slots = 4;
    distributor.pump();
    assert.deepEqual([worker.begun.length, distributor.waiting], [4, 1]);
  });

  it('gives a vanished worker’s tasks to others, in front of their lanes', () => {
    const distributor = new Distributor<Task>(again);
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
    const distributor = new Distributor<Task>(() => false);
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
    const distributor = new Distributor<Task>(again);
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
    const distributor = new Distributor<Task>(again);
    const one = new Recorder(2);
    const two = new Recorder(4);
    distributor.join(one);
    distributor.join(two);
    for (let i = 1; i <= 6; i++) distributor.add(task(i, String(i)));
    assert.deepEqual([one.begun.length, two.begun.length], [2, 4]);
  });

  it('gives back what has not begun', () => {
    const distributor = new Distributor<Task>(again);
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
    assert.deepEqual([distributor.waiting, distributor.running], [0, 1]);
  });

  it('has room for workers that are done at once, however much waits', () => {
    const distributor = new Distributor<Task>(again);
    for (let i = 1; i <= 20_000; i++) distributor.add(task(i, String(i % 7)));
    let done = 0;
    const worker: Worker<Task> = {
      slots: 2,
      begin(begun) {
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
    const distributor = new Distributor<Task>(again);
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

  it('keeps lanes, order, slots and counts through anything that happens', () => {
    const event = fc.record({
      what: fc.constantFrom('add', 'add', 'add', 'finish', 'finish', 'join', 'leave', 'slots'),
      pick: fc.nat(1000),
    });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 200 }), events => {
        const distributor = new Distributor<Task>(again);
        const workers: Recorder[] = [];
        const running = new Map<number, { worker: Recorder; task: Task }>();
        const order = new Map<string, number[]>();
        const lanesRunning = new Set<string>();
        class Checked extends Recorder {
          override begin(begun: Task): void {
            assert.ok(!lanesRunning.has(begun.lane), 'two of one lane at once');
            assert.equal(order.get(begun.lane)?.[0], begun.number, 'out of order');
            lanesRunning.add(begun.lane);
            running.set(begun.number, { worker: this, task: begun });
            const busy = [...running.values()].filter(({ worker }) => worker === this).length;
            assert.ok(busy <= this.slots, 'more than its slots');
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
            const [number, entry] = [...running][pick % Math.max(1, running.size)] ?? [];
            if (number === undefined || entry === undefined) continue;
            running.delete(number);
            lanesRunning.delete(entry.task.lane);
            order.get(entry.task.lane)?.shift();
            assert.equal(distributor.finish(entry.worker, number), entry.task);
            distributor.pump();
          } else if (worker !== undefined && what === 'leave') {
            workers.splice(workers.indexOf(worker), 1);
            for (const [number, entry] of running) {
              if (entry.worker !== worker) continue;
              running.delete(number);
              lanesRunning.delete(entry.task.lane);
            }
            distributor.leave(worker);
          } else if (worker !== undefined && what === 'slots') {
            worker.slots += 1;
            distributor.pump();
          }
          assert.equal(distributor.running, running.size);
          const unfinished = [...order.values()].reduce((sum, lane) => sum + lane.length, 0);
          assert.equal(distributor.waiting + distributor.running, unfinished);
        }
        // With slots for everyone nothing is left waiting but behind its own lane.
        distributor.join(new Checked(100));
        assert.equal(lanesRunning.size, [...order.values()].filter(lane => lane.length > 0).length);
      }),
      { numRuns: 300 },
    );
  });
});
