/** Priorities, through the real dispatcher: who yields, and whose turn comes nevertheless. */
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
