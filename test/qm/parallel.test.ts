/** How many urls of a provider are fetched at a time, through the real dispatcher. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { Simulation, type Site } from './simulation.js';
import { failure, ok, url } from './support.js';

const SECOND = 1000;
const SHARED = { window: 64, lanes: { sharedWindow: 1024 } };
const pages = (count: number) => Array.from({ length: count }, (_, i) => url(`p${i}`));
const answer: Site = ({ url: asked }) => ({ result: ok(asked), tookMs: SECOND });

let sim: Simulation;
afterEach(() => sim.close());

function begin(site: Site, parallel: number, workerSlots = 32): void {
  sim = new Simulation({ ...SHARED, site, workerSlots });
  sim.bench.provider(1, { parallel });
  sim.start();
}

/** The most that were fetched at a time, of fetches that have ended. */
function mostAtOnce(): number {
  const during = (atMs: number) =>
    sim.fetches.filter(({ monotonicMs, endMs = Infinity }) => monotonicMs <= atMs && atMs < endMs).length;
  return Math.max(...sim.fetches.map(({ monotonicMs }) => during(monotonicMs)));
}

for (const [count, seconds] of [
  [8, 1],
  [30, 4],
  [655, 83],
] as const)
  test(`${count} urls of a provider with parallel=8 are fetched eight at a time`, async () => {
    begin(answer, 8);
    await sim.send(1, pages(count));
    await sim.pass((seconds + 1) * SECOND);
    assert.equal(mostAtOnce(), 8);
    assert.equal(sim.bench.value('SELECT count(*) FROM lccurl'), count);
  });

test('also what a crash left of a large set, and what comes in many small ones', async () => {
  begin(answer, 4);
  await sim.send(1, pages(400));
  await sim.pass(95 * SECOND);
  const before = sim.fetches.length;
  assert.ok(before > 360 && before < 400);
  await sim.crash();
  sim.fetches.length = 0;
  sim.start();
  for (let i = 0; i < 20; i++) await sim.send(1, [url(`q${i}`)]);
  await sim.pass(SECOND / 2);
  assert.equal(sim.fetches.length, 4);
  await sim.pass(20 * SECOND);
  assert.equal(sim.bench.value('SELECT count(*) FROM lccurl'), 420);
});

test('what is tried again is fetched as many at a time', async () => {
  let isBusy = true;
  begin(({ url: asked }) => ({ result: isBusy ? failure(500, 'url') : ok(asked), tookMs: SECOND }), 8);
  await sim.send(1, pages(40));
  await sim.pass(5 * SECOND);
  isBusy = false;
  sim.fetches.length = 0;
  await sim.pass(60 * SECOND);
  assert.equal(mostAtOnce(), 8);
});

test('a page that hangs holds up its share only', async () => {
  begin(
    ({ url: asked }) => ({ result: ok(asked), tookMs: asked.endsWith('/p0') ? 600 * SECOND : SECOND }),
    4,
  );
  await sim.send(1, pages(40));
  await sim.pass(60 * SECOND);
  assert.equal(sim.bench.value('SELECT count(*) FROM lccurl'), 30);
});

test('what waits is shared by no more lanes than there are slots', async () => {
  begin(answer, 64, 4);
  await sim.send(1, pages(40));
  await sim.pass(SECOND / 2);
  assert.equal(mostAtOnce(), 4);
  assert.ok(sim.waiting >= 20, 'a window hides the way to and fro');
});

test('with fewer lanes from now on, or none but one, what was sent ahead into the others comes back', async () => {
  begin(answer, 4);
  await sim.send(1, pages(400));
  await sim.pass(2.5 * SECOND);
  for (const parallel of [2, 1]) {
    sim.bench.db.prepare('UPDATE pidb SET parallel = ?').run(parallel);
    sim.reload();
    await sim.pass(2 * SECOND);
    sim.fetches.length = 0;
    await sim.pass(10 * SECOND);
    assert.equal(mostAtOnce(), parallel);
    assert.equal(sim.fetches.length, 10 * parallel);
  }
});

test('with more lanes from now on, what was sent ahead into one is divided among them', async () => {
  begin(answer, 1);
  await sim.send(1, pages(100));
  await sim.pass(2.5 * SECOND);
  sim.bench.db.prepare('UPDATE pidb SET parallel = 4').run();
  sim.reload();
  await sim.pass(2 * SECOND);
  sim.fetches.length = 0;
  await sim.pass(10 * SECOND);
  assert.equal(mostAtOnce(), 4);
  assert.equal(sim.fetches.length, 40);
});
