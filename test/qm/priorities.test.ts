/** Priorities, through the real dispatcher: which provider yields, and which gets its turn nevertheless. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { Simulation } from './simulation.js';
import { ok, url } from './support.js';

const SECOND = 1000;
const AGEING = 60 * SECOND;

let sim: Simulation;
afterEach(() => sim.close());

/** One slot, and a second for each url. @param priorities of the providers 1, 2, … */
function begin(...priorities: number[]): void {
  sim = new Simulation({
    workerSlots: 1,
    lanes: { ageingMs: AGEING },
    site: request => ({ result: ok(request.url, { fileId: request.url }), tookMs: SECOND }),
  });
  priorities.forEach((priority, index) => sim.bench.provider(index + 1, { priority }));
  sim.start();
}

const pages = (name: string, count: number) => Array.from({ length: count }, (_, i) => url(`${name}${i}`));
const fetched = () => sim.fetches.map(fetch => fetch.url.slice('http://127.0.0.1/'.length));

test('between two urls a provider yields to a higher priority, also of what was sent ahead', async () => {
  begin(0, 2);
  await sim.send(1, pages('a', 20));
  await sim.pass(2500);
  await sim.send(2, pages('b', 2));
  await sim.pass(60 * SECOND);
  assert.deepEqual(fetched().slice(0, 7), ['a0', 'a1', 'a2', 'b0', 'b1', 'a3', 'a4']);
  assert.equal(sim.fetches.length, 22);
});

test('beside endless work of the highest priority the turn of the lowest comes by its age', async () => {
  begin(2, 2, 0);
  await sim.send(1, pages('a', 400));
  await sim.send(2, pages('b', 400));
  await sim.send(3, pages('c', 1));
  await sim.pass(3 * AGEING);
  const index = fetched().indexOf('c0');
  // Not before it is as old as two priorities; then it is next among those who waited longest.
  assert.ok(index >= 120 && index <= 155, `it was number ${index}`);
});

/** Four slots, one lane more as lanes are overbooked by default, a tenth of a second for each url. */
function beginOverbooked(providers: readonly { priority: number; parallel?: number }[]): void {
  sim = new Simulation({
    workerSlots: 4,
    window: 64,
    lanes: { overbookPercent: 25, sharedWindow: 1024, turn: 128, ageingMs: AGEING },
    site: request => ({ result: ok(request.url, { fileId: request.url }), tookMs: 100 }),
  });
  providers.forEach((terms, index) => sim.bench.provider(index + 1, terms));
  sim.start();
}

const firstOf = (name: string) =>
  sim.fetches.find(fetch => fetch.url.endsWith(`/${name}0`))?.monotonicMs ?? NaN;

for (const lows of [4, 5, 8])
  test(`a higher priority has a slot at once beside ${lows} of a lower one, though lanes are overbooked`, async () => {
    beginOverbooked([...Array.from({ length: lows }, () => ({ priority: 0 })), { priority: 2 }]);
    for (let pid = 1; pid <= lows; pid++) await sim.send(pid, pages(`low${pid}-`, 200));
    await sim.pass(2 * SECOND);
    const sinceMs = sim.clock.monotonicMs();
    await sim.send(lows + 1, pages('high', 20));
    await sim.pass(3 * SECOND);
    assert.ok(firstOf('high') - sinceMs <= 500, String(firstOf('high') - sinceMs));
    assert.equal(fetched().filter(name => name.startsWith('high')).length, 20);
    await sim.pass(120 * SECOND);
    assert.equal(sim.fetches.length, 200 * lows + 20);
  });

test('beside many lanes of one provider a higher priority has a slot at once, and an equal when a turn is over', async () => {
  beginOverbooked([{ priority: 1, parallel: 64 }, { priority: 1 }, { priority: 2 }]);
  await sim.send(1, pages('a', 3000));
  await sim.pass(2 * SECOND);
  const sinceMs = sim.clock.monotonicMs();
  await sim.send(2, pages('b', 10));
  await sim.send(3, pages('c', 10));
  await sim.pass(60 * SECOND);
  assert.ok(firstOf('c') - sinceMs <= 500, String(firstOf('c') - sinceMs));
  assert.ok(firstOf('b') - sinceMs <= 15 * SECOND, String(firstOf('b') - sinceMs));
  for (const name of ['b', 'c'])
    assert.equal(fetched().filter(each => each.startsWith(name)).length, 10, name);
});

test('a priority that is changed holds at once', async () => {
  beginOverbooked(Array.from({ length: 5 }, () => ({ priority: 1 })));
  for (let pid = 1; pid <= 4; pid++) await sim.send(pid, pages(`p${pid}-`, 200));
  await sim.pass(2 * SECOND);
  await sim.send(5, pages('five', 10));
  await sim.pass(SECOND);
  assert.equal(Number.isNaN(firstOf('five')), true, 'no turn is over');
  const sinceMs = sim.clock.monotonicMs();
  sim.bench.db.prepare('UPDATE pidb SET priority = 0 WHERE pid = 1').run();
  sim.reload();
  await sim.pass(SECOND);
  assert.ok(firstOf('five') - sinceMs <= 500, String(firstOf('five') - sinceMs));
});
