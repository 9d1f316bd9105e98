import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { ResultBatch } from '../../src/qm/results.js';
import { Bench, ok, url } from './support.js';

const PID = 7;
let bench: Bench;
let batch: ResultBatch;
let commits: number[];

beforeEach(async () => {
  bench = new Bench();
  bench.provider(PID);
  commits = [];
  batch = new ResultBatch({
    store: bench.store,
    clock: bench.clock,
    postpone: () => 'again',
    alongside: () => undefined,
    close: () => undefined,
    committed: arrivals => commits.push(arrivals.length),
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
function arrive(): void {
  const [set] = bench.sets;
  assert.ok(set);
  const [row] = bench.store.queue.next(set, next, 1);
  assert.ok(row);
  next = row.pos;
  const { pos, gen, pid, tries, mtime, md5, len, urlSum } = row;
  batch.add({
    sent: {
      pos,
      gen,
      pid,
      tries,
      mtime,
      md5,
      len,
      urlSum,
      set,
      conditional: false,
      held: false,
      backoffs: 0,
    },
    result: ok('x'),
  });
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
