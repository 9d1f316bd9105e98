import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import type { WaitingSet } from '../../src/db/queue/sets.js';
import { onStep } from '../../src/lib/steps.js';
import { FinishedSets } from '../../src/qm/finished-sets.js';
import { Bench, url, setsOf } from './support.js';

let bench: Bench;
let finished: FinishedSets;
let failures: unknown[];
let steps: string[];

beforeEach(async () => {
  bench = new Bench();
  failures = [];
  steps = [];
  finished = new FinishedSets({
    store: bench.store,
    clock: bench.clock,
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

test('sets that are finished go with the next results', () => {
  finished.add([emptied(1)], true);
  finished.add([emptied(2)], true);
  assert.deepEqual(ordered(), [1, 2]);
  bench.store.transaction(() => finished.remove());
  finished.removed();
  assert.deepEqual([ordered(), steps], [[], ['qm.set.finished']]);
  bench.clock.advance(1000);
  finished.removed();
  assert.deepEqual(steps, ['qm.set.finished']);
});

test('without results they go by themselves, at once or after a moment', () => {
  finished.add([emptied(1)], true);
  bench.clock.advance(99);
  assert.deepEqual(ordered(), [1, 2]);
  bench.clock.advance(1);
  assert.deepEqual(ordered(), [2]);
  finished.add([emptied(2)], false);
  assert.deepEqual([ordered(), steps], [[], ['qm.set.finished', 'qm.set.finished']]);
});

test('a set that has urls again stays', () => {
  const set = bench.sets.find(({ pid }) => pid === 1) ?? assert.fail();
  finished.add([set], false);
  assert.deepEqual(ordered(), [1, 2]);
});

test('those of a transaction that failed go with the next one', () => {
  finished.add([emptied(1)], true);
  assert.throws(() =>
    bench.store.transaction(() => {
      finished.remove();
      throw new Error('full');
    }),
  );
  finished.add([emptied(2)], true);
  assert.deepEqual(ordered(), [1, 2]);
  bench.store.transaction(() => finished.remove());
  finished.removed();
  assert.deepEqual([ordered(), failures], [[], []]);
});
