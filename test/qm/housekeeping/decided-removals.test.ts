import fc from 'fast-check';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  bench,
  carryOut,
  decide,
  deletes,
  held,
  heldSets,
  names,
  send,
  sendFull,
  start,
  store,
  waiting,
} from '../fused.js';
import { url } from '../support.js';

test('the operator releases: what the set did not name goes, what later sets named stays', async () => {
  await store(...names(0, 10));
  await send([url('p0', { len: '1' }), url('queued')], { set: 'full' });
  await bench.send(7, [url('p1', { len: '1' }), url('p2', { len: '7' }), url('p3'), url('later')]);
  assert.equal(bench.fetch(7, 'p3', 'new'), 'done');
  assert.equal(decide('release', 8), 0);
  assert.equal(decide('release', 7), 1);
  assert.deepEqual(bench.store.held.waiting(), { sets: 0, urls: 0, decided: 1 });
  carryOut();
  assert.deepEqual(held(), ['p0', 'p1', 'p2', 'p3']);
  assert.deepEqual(waiting(), ['queued', 'p2', 'later']);
  assert.equal(bench.value('SELECT count(*) FROM tombstone'), 6);
  assert.deepEqual(bench.all('SELECT filesused, nurlproc FROM pidb'), [{ filesused: 4, nurlproc: 3 }]);
});

test('what later sets named "if absent" stays too', async () => {
  await store(...names(0, 10));
  await bench.send(7, [url('w1'), url('w2')]);
  await sendFull('p0');
  await bench.send(7, [url('p1', { ifabsent: 'yes' }), url('w1', { ifabsent: 'yes' })]);
  decide('release');
  carryOut();
  assert.deepEqual([held(), waiting()], [['p0', 'p1'], ['w1']]);
});

test('released deletes leave alone what later sets named', async () => {
  await store(...names(0, 10));
  await send(deletes(...names(0, 8)));
  await bench.send(7, [url('p0', { len: '1' }), url('p1', { len: '5' })]);
  decide('release');
  carryOut();
  assert.deepEqual([held(), waiting()], [['p0', 'p1', 'p8', 'p9'], ['p1']]);
});

test('the operator discards: nothing goes', async () => {
  await store(...names(0, 10));
  await sendFull('p0');
  await send(deletes(...names(0, 8)));
  assert.equal(decide('discard'), 1);
  carryOut();
  assert.deepEqual(held(), names(0, 10));
  assert.deepEqual([heldSets(), bench.value('SELECT count(*) FROM helddelete')], [[], 0]);
  assert.equal(decide('release'), 0);
});

test('a release cut off after any slice goes on at the next start', async () => {
  for (let cut = 0; ; cut++) {
    bench.close();
    start();
    await store(...names(0, 12));
    await sendFull('p0');
    await send(deletes(...names(1, 11)));
    decide('release');
    const steps = carryOut(cut);
    bench.reopen();
    carryOut();
    assert.deepEqual(held(), ['p0'], `cut after ${cut}`);
    assert.deepEqual(heldSets(), []);
    assert.equal(bench.value('SELECT filesused FROM pidb'), 1);
    assert.equal(bench.value('SELECT count(*) FROM tombstone'), 11);
    if (steps < cut) break;
  }
});

test('held first and released at the end, any history ends as if nothing had been held', async () => {
  const key = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
  const set = fc.record({
    full: fc.boolean(),
    fetch: fc.boolean(),
    urls: fc.array(fc.record({ key, op: fc.constantFrom('update', 'update', 'delete') }), { maxLength: 6 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(set, { minLength: 3, maxLength: 8 }),
      fc.constantFrom(2, 100),
      async (sets, sliceUrls) => {
        const ends: string[][] = [];
        for (const percent of [0, 100]) {
          bench.close();
          start({ fuse: { percent, urls: 0 }, sliceUrls });
          for (const [n, { full, fetch, urls }] of sets.entries()) {
            const records = urls.map(({ key, op }) => url(key, { op }));
            await send(records, { set: full ? 'full' : 'partial', digest: `d${n}` });
            if (fetch) for (const name of waiting()) bench.fetch(7, name);
          }
          decide('release');
          carryOut();
          for (const name of waiting()) bench.fetch(7, name);
          assert.deepEqual(heldSets(), []);
          assert.equal(bench.value('SELECT filesused FROM pidb'), held().length);
          ends.push(held());
        }
        assert.deepEqual(ends[0], ends[1]);
      },
    ),
    { numRuns: Number(process.env['LCC_MODEL_RUNS'] ?? 100) },
  );
});
