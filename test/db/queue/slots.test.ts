/** Parts of sets that wait for their hours, as the tables have them. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { disagreement, rebuildSets } from '../../../src/db/queue/sets-from-urls.js';
import { Bench, url, setsOf } from '../../qm/support.js';

let bench: Bench;
beforeEach(() => {
  bench = new Bench();
  bench.provider(7);
});
afterEach(() => bench.close());

const parts = () =>
  bench
    .all<{ part: string }>(`SELECT psetid || '/' || starttimeslot AS part FROM qpsdb ORDER BY 1`)
    .map(row => row.part);

/** A url whose turn came waits for a slot; the set is left without it. */
function postpone(curl: string, slot: number): void {
  const [set] = bench.sets;
  const row = bench.row(7, curl);
  assert.ok(set !== undefined && row !== undefined);
  bench.store.transaction(() => bench.store.slots.postpone({ ...row, set }, slot));
}

test('a url submitted again while its part is put back stays in its set', async () => {
  await bench.send(7, [url('a', { tod: '5' })]);
  postpone('a', 5);
  bench.store.transaction(() => bench.sets.forEach(set => bench.store.queue.removeSet(set)));
  const [part] = bench.store.slots.parts(5, 7, 0, 10);
  await bench.send(7, [url('a', { tod: '5' })]);
  const [look] = bench.store.slots.resubmitted(0, 10);
  assert.ok(part !== undefined && look !== undefined);
  for (const one of [part, look]) bench.store.transaction(() => bench.store.slots.join(one, 1000));
  assert.deepEqual(parts(), ['1/-1']);
  assert.equal(disagreement(bench.db), undefined);
});

test('parts found again from the urls have all places of their set, so that it is whole when they are back', async () => {
  await bench.send(7, [url('a'), url('b', { tod: '5' }), url('c', { tod: '6' })]);
  postpone('b', 5);
  postpone('c', 6);
  bench.fetch(7, 'a');
  bench.db.transaction(() => rebuildSets(bench.db))();
  assert.deepEqual(bench.store.slots.slotsOf(7), [5, 6]);
  for (const part of [5, 6].flatMap(slot => bench.store.slots.parts(slot, 7, 0, 10)))
    bench.store.transaction(() => bench.store.slots.join(part, 1000));
  const [set] = setsOf(bench.store.queue);
  assert.ok(set !== undefined);
  const rows = bench.store.queue.next(set, set.firstpos - 1, 10);
  assert.deepEqual(
    rows.map(row => row.curl.slice(-1)),
    ['b', 'c'],
  );
});
