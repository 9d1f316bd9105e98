import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { readQueueSummary } from '../../../src/db/queue/shape.js';
import { silentLog } from '../../../src/lib/log.js';
import { decidedRemovals } from '../../../src/qm/housekeeping/decided-removals.js';
import { heldRecount } from '../../../src/qm/housekeeping/held-recount.js';
import { Bench, url } from '../support.js';

let bench: Bench;
beforeEach(() => {
  bench = new Bench({ fuse: { percent: 50, urls: 4 } });
  bench.db.pragma('synchronous = OFF');
  bench.provider(7);
});
afterEach(() => bench.close());

const names = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `p${from + i}`);

async function announce(...which: string[]): Promise<void> {
  await bench.send(
    7,
    which.map(name => url(name, { len: '1' })),
  );
}

const full = (...which: string[]) =>
  bench.send(
    7,
    which.map(name => url(name, { len: '1' })),
    { set: 'full', digest: 'full' },
  );
const deletes = (...which: string[]) =>
  bench.send(
    7,
    which.map(name => url(name, { op: 'delete' })),
    { deletes: which.length, digest: 'deletes' },
  );

/** One round of it; then what was decided is carried out. @returns steps of the round */
function recount(): number {
  const { store, clock } = bench;
  const chore = heldRecount({ store, clock, log: silentLog });
  let steps = 1;
  while (chore.run() < 1000) steps++;
  const options = { store, clock, log: silentLog, sliceUrls: 100, onCommit: () => undefined };
  const removals = decidedRemovals(options);
  while (store.held.decided() !== undefined) removals.run();
  return steps;
}

const summary = () => {
  const { held_providers, held_urls } = readQueueSummary(bench.db, bench.clock.nowMs(), 24);
  return [held_providers, held_urls];
};

beforeEach(async () => {
  await announce(...names(0, 10));
  for (const name of names(0, 10)) bench.fetch(7, name);
});

for (const [what, hold] of [
  ['a full set', () => full('p0')],
  ['a partial set', () => deletes(...names(1, 10))],
] as const) {
  test(`removals of ${what} that are held count what was not announced again meanwhile`, async () => {
    await hold();
    assert.deepEqual(summary(), [1, 9]);
    await announce('p1', 'p2');
    recount();
    assert.deepEqual(summary(), [1, 7]);
    bench.store.transaction(() => bench.store.held.release());
    recount();
    assert.equal(bench.value('SELECT count(*) FROM lccurl'), 3);
  });

  test(`${what} that is held is given up when all was announced again, and nothing is removed`, async () => {
    await hold();
    await announce(...names(1, 10));
    recount();
    assert.deepEqual(summary(), [0, 0]);
    assert.deepEqual(bench.all('SELECT * FROM held'), []);
    assert.deepEqual(bench.all('SELECT * FROM helddelete'), []);
    assert.equal(bench.value('SELECT count(*) FROM lccurl'), 10);
  });
}

for (const [what, hold] of [
  ['a full set', () => full('p0')],
  ['a partial set', () => deletes(...names(1, 10))],
] as const)
  test(`what ${what} would remove and is gone by other ways is not counted`, async () => {
    await hold();
    await bench.send(
      7,
      ['p1', 'p2'].map(name => url(name, { op: 'delete' })),
      { deletes: 2, digest: 'fewer' },
    );
    recount();
    assert.deepEqual(summary(), [1, 7]);
    const nowS = Math.floor(bench.clock.nowMs() / 1000);
    const rows = bench.all<{ id: number; pid: number; psetid: number }>('SELECT * FROM lccurl');
    bench.store.transaction(() => bench.store.age.remove(rows as never, nowS));
    recount();
    assert.deepEqual(summary(), [0, 0]);
    assert.deepEqual(bench.all('SELECT * FROM held'), []);
  });

test('a full set that would only remove what waits stays for the operator, and nobody is asked for it', async () => {
  await announce('late');
  await full('p0');
  await announce(...names(1, 10));
  recount();
  assert.deepEqual(summary(), [0, 0]);
  assert.deepEqual(bench.all('SELECT urls FROM held'), [{ urls: 0 }]);
  // Fetched after all, it is content that the set does not name.
  bench.fetch(7, 'late');
  recount();
  assert.deepEqual(summary(), [1, 1]);
});

test('what is held is counted in steps, however much it is', async () => {
  const many = Array.from({ length: 4500 }, (_, i) => `q${i}`);
  await announce(...many);
  for (const name of many) bench.fetch(7, name);
  await full('p0');
  await deletes(...many);
  assert.ok(recount() > 3 + 4500 / 500, 'pages of 500 and ranges of 4000');
  assert.equal(summary()[1], 4509 + 4500);
});
