import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { ResultBatch } from '../../src/qm/results.js';
import { Simulation } from './simulation.js';
import { Bench, failure, ok, url } from './support.js';

const PID = 7;
let bench: Bench;
let batch: ResultBatch;
let commits: number[];
/** How long a commit takes. */
let commitMs: number;

beforeEach(async () => {
  bench = new Bench();
  bench.provider(PID);
  commits = [];
  commitMs = 0;
  batch = new ResultBatch({
    store: bench.store,
    clock: bench.clock,
    postpone: () => 'again',
    learn: () => 'again',
    alongside: () => false,
    close: () => bench.clock.advance(commitMs),
    committed: results => commits.push(results.length),
    failed: error => {
      throw error;
    },
  });
  await bench.send(
    PID,
    Array.from({ length: 1200 }, (_, i) => url(`${i}`)),
  );
});
afterEach(() => bench.close());

/** The result of the next url. */
function arrive(endsSet = false): void {
  const [set] = bench.sets;
  assert.ok(set);
  const [row] = bench.store.queue.next(set, next, 1);
  assert.ok(row);
  next = row.pos;
  const { pos, gen, pid, tries, len, mtime } = row;
  batch.add(
    {
      sent: {
        pos,
        gen,
        pid,
        tries,
        len,
        mtime,
        set,
        conditional: false,
        held: false,
        backoffs: 0,
      },
      result: ok('x'),
    },
    endsSet,
  );
}
let next = 0;
beforeEach(() => void (next = 0));

test('a lone result is committed after a moment', () => {
  arrive();
  bench.clock.advance(4);
  assert.deepEqual(commits, []);
  bench.clock.advance(1);
  assert.deepEqual(commits, [1]);
});

test('results that keep coming are committed together, and not kept for ever', () => {
  for (let ms = 0; ms < 50; ms++) {
    arrive();
    bench.clock.advance(1);
  }
  assert.deepEqual(commits, [50]);
});

test('the last of a set does not wait for a stream of others to end', () => {
  for (let ms = 0; ms < 10; ms++) {
    arrive(ms === 7);
    bench.clock.advance(1);
  }
  assert.deepEqual(commits, [10]);
  for (let ms = 0; ms < 20; ms++) {
    arrive();
    bench.clock.advance(1);
  }
  assert.deepEqual(commits, [10], 'what follows is a stream again');
});

/** @returns how many milliseconds it took */
function untilCommit(): number {
  const before = commits.length;
  let waitedMs = 0;
  for (; commits.length === before; waitedMs++) bench.clock.advance(1);
  return waitedMs;
}

test('commits that take long have more time between them, one among short ones has not', () => {
  const commitOne = (tookMs: number) => {
    commitMs = tookMs;
    arrive();
    return untilCommit();
  };
  assert.deepEqual([1, 60, 1].map(commitOne), [5, 5, 5]);
  assert.deepEqual([10, 10, 10].map(commitOne), [5, 5, 40]);
  assert.deepEqual([300, 300, 300].map(commitOne), [40, 40, 100]);
});

test('the last of a set does not wait as long as others after commits that took long', () => {
  commitMs = 10;
  for (let n = 0; n < 3; n++) {
    arrive();
    untilCommit();
  }
  arrive();
  bench.clock.advance(9);
  const before = commits.length;
  arrive(true);
  bench.clock.advance(10);
  assert.equal(commits.length, before);
  bench.clock.advance(1);
  assert.deepEqual(commits.slice(before), [2]);
});

test('the pause after commits that took long runs from the end of the last one, not from the next result', () => {
  commitMs = 10;
  for (const endsSet of [false, true]) {
    for (let n = 0; n < 3; n++) {
      arrive(endsSet);
      bench.clock.advance(100);
    }
    const before = commits.length;
    arrive(endsSet);
    bench.clock.advance(4);
    assert.equal(commits.length, before);
    bench.clock.advance(1);
    assert.deepEqual(commits.slice(before), [1]);
  }
});

test('a stream that has ended is committed after a moment', () => {
  for (let i = 0; i < 10; i++) arrive();
  bench.clock.advance(5);
  assert.deepEqual(commits, []);
  bench.clock.advance(5);
  assert.deepEqual(commits, [10]);
});

test('a large batch is committed at once', () => {
  for (let i = 0; i < 1024; i++) arrive();
  assert.deepEqual(commits, [1024]);
  assert.equal(bench.value('SELECT count(*) FROM lccurl'), 1024);
});

test('stopping commits what has come', () => {
  arrive();
  batch.flush();
  assert.deepEqual(commits, [1]);
});

test('a small set is done while a large one of another provider is being fetched', async () => {
  const sim = new Simulation({ site: ({ url: asked }) => ({ result: ok(asked), tookMs: 1 }) });
  try {
    for (const pid of [1, 2]) sim.bench.provider(pid);
    sim.start();
    await sim.send(
      1,
      Array.from({ length: 500 }, (_, i) => url(`large${i}`)),
    );
    await sim.pass(60);
    await sim.send(2, [url('small')]);
    const rows = (pid: number) => Number(sim.bench.value(`SELECT count(*) FROM lccurl WHERE pid = ${pid}`));
    let tookMs = 0;
    for (; rows(2) === 0 && tookMs < 100; tookMs++) await sim.pass(1);
    assert.ok(tookMs <= 12, `${tookMs} ms`);
    assert.ok(rows(1) < 200, 'the large one is still being fetched');
  } finally {
    sim.close();
  }
});

test('an outage that ends in a transaction that fails is over when that is made again, also for the next Queue Manager', async () => {
  const answers = [failure(601, 'provider'), ok('x')];
  const sim = new Simulation({ site: () => ({ result: answers.shift() ?? ok('x'), tookMs: 1 }) });
  try {
    sim.bench.provider(1);
    sim.start();
    await sim.send(1, [url('x')]);
    await sim.pass(5000);
    const backoffs = () => sim.bench.value('SELECT backoffs FROM pidb WHERE pid = 1');
    assert.equal(backoffs(), 1);
    sim.failure = new Error('disk full');
    const { store } = sim.bench;
    const transaction = store.transaction.bind(store);
    let failures = 0;
    store.transaction = change =>
      transaction(() => {
        const value = change();
        if (sim.failure !== undefined && ++failures <= 3) throw sim.failure;
        return value;
      });
    await sim.pass(60_000);
    assert.deepEqual(
      [failures > 3, sim.bench.value('SELECT count(*) FROM lccurl'), backoffs()],
      [true, 1, 0],
    );
  } finally {
    sim.close();
  }
});
