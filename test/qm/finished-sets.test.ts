import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import type { WaitingSet } from '../../src/db/queue/sets.js';
import { onStep } from '../../src/lib/steps.js';
import { ResultBatch } from '../../src/qm/results.js';
import { Bench, url, setsOf } from './support.js';

let bench: Bench;
let batch: ResultBatch;
let failures: unknown[];
/** The transaction of results fails. */
let isFull: boolean;
let steps: string[];

beforeEach(async () => {
  bench = new Bench();
  failures = [];
  steps = [];
  isFull = false;
  batch = new ResultBatch({
    store: bench.store,
    clock: bench.clock,
    postpone: () => 'again',
    learn: () => undefined,
    alongside: () => false,
    close() {
      if (isFull) throw new Error('full');
    },
    committed: () => undefined,
    failed: error => failures.push(error) > 0,
  });
  for (const pid of [1, 2]) {
    bench.provider(pid);
    await bench.send(pid, [url('a')]);
  }
  onStep(name => void steps.push(name));
});
afterEach(() => {
  onStep(() => undefined);
  bench.close();
});

const ordered = () => setsOf(bench.store.queue).map(({ pid }) => pid);

/** The set of a provider, all its urls done. */
function emptied(pid: number): WaitingSet {
  const set = bench.sets.find(set => set.pid === pid) ?? assert.fail();
  bench.store.transaction(() => bench.store.queue.drop({ pos: set.firstpos, pid }));
  return set;
}

/** Something is committed, as with results. */
function commit(): void {
  batch.deleted(1);
  batch.flush();
}

test('sets that are finished go with the next results', () => {
  batch.finish([emptied(1)], true);
  batch.finish([emptied(2)], true);
  assert.deepEqual(ordered(), [1, 2]);
  commit();
  assert.deepEqual([ordered(), steps], [[], ['qm.result.committed', 'qm.set.finished']]);
  bench.clock.advance(1000);
  commit();
  assert.deepEqual(steps.slice(2), ['qm.result.committed']);
});

test('without results they go by themselves, at once or after a moment', () => {
  batch.finish([emptied(1)], true);
  bench.clock.advance(99);
  assert.deepEqual(ordered(), [1, 2]);
  bench.clock.advance(1);
  assert.deepEqual(ordered(), [2]);
  batch.finish([emptied(2)], false);
  assert.deepEqual([ordered(), steps], [[], ['qm.set.finished', 'qm.set.finished']]);
});

test('a set that has urls again stays', () => {
  const set = bench.sets.find(({ pid }) => pid === 1) ?? assert.fail();
  batch.finish([set], false);
  assert.deepEqual(ordered(), [1, 2]);
});

test('those of a transaction that failed go with the next one', () => {
  batch.finish([emptied(1)], true);
  isFull = true;
  commit();
  batch.finish([emptied(2)], true);
  assert.deepEqual([ordered(), failures.length], [[1, 2], 1]);
  isFull = false;
  commit();
  assert.deepEqual([ordered(), failures.length], [[], 1]);
});
