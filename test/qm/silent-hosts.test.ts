/** A provider of several hosts, one of which does not answer, through the real dispatcher. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { Simulation } from './simulation.js';
import { failure, ok, url } from './support.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DEAD = 'http://dead.example/';
const dead = (count: number) => Array.from({ length: count }, (_, i) => url(`${DEAD}${i}`));
const alive = (count: number) => Array.from({ length: count }, (_, i) => url(`p${i}`));

let sim: Simulation;
let isDown: boolean;
afterEach(() => sim.close());

function begin(): void {
  isDown = true;
  sim = new Simulation({
    window: 64,
    site: ({ url: asked }) => ({
      result: isDown && asked.startsWith(DEAD) ? failure(604, 'provider') : ok(asked),
      tookMs: 10,
    }),
  });
  sim.bench.provider(1);
  sim.bench.db.prepare('INSERT INTO proots VALUES (1, ?)').run(DEAD);
  sim.start();
}

const held = () => sim.bench.value('SELECT count(*) FROM lccurl');

test('a url of a dead host does not keep those of the others waiting', async () => {
  begin();
  await sim.send(1, [...dead(1), ...alive(10)]);
  await sim.pass(MINUTE);
  assert.equal(held(), 10);
  assert.deepEqual(
    sim.bench.all('SELECT tries FROM qdb'),
    [{ tries: 0 }],
    'nothing is dropped, no try counted',
  );
  assert.equal(sim.bench.value('SELECT count(*) FROM pierr'), 0);
});

test('nor do hundreds, over several sets; when the host is back they are fetched', async () => {
  begin();
  await sim.send(1, [...dead(300), ...alive(5)]);
  await sim.send(1, [...dead(310).slice(300), ...alive(10).slice(5)]);
  await sim.pass(MINUTE);
  assert.equal(held(), 10);
  await sim.send(1, alive(20).slice(10));
  await sim.pass(3 * MINUTE);
  assert.equal(held(), 20);
  isDown = false;
  await sim.pass(HOUR);
  assert.equal(held(), 330);
  assert.equal(sim.bench.value('SELECT count(*) FROM qdb'), 0);
  assert.equal(sim.status().sets, 0);
});

test('however long it has been silent, what is announced of another host is fetched at once; what is of itself waits', async () => {
  begin();
  await sim.send(1, [...dead(20), ...alive(5)]);
  await sim.pass(12 * HOUR);
  await sim.send(1, [...dead(22).slice(20), ...alive(10).slice(5)]);
  await sim.pass(1000);
  assert.equal(held(), 10);
  await sim.pass(12 * HOUR);
  const asked = sim.fetches.length;
  await sim.send(1, dead(24).slice(22));
  await sim.pass(1000);
  assert.equal(sim.fetches.length, asked);
});

test('a site that asked for patience is left alone, whatever another host of its provider does', async () => {
  sim = new Simulation({
    window: 64,
    site: ({ url: asked }) => ({
      result: asked.startsWith(DEAD)
        ? failure(604, 'provider')
        : { ...failure(503, 'url'), retryAfterMs: 4 * HOUR },
      tookMs: asked.startsWith(DEAD) ? 100 : 10,
    }),
  });
  sim.bench.provider(1, { parallel: 2 });
  sim.bench.db.prepare('INSERT INTO proots VALUES (1, ?)').run(DEAD);
  sim.start();
  await sim.send(1, [...alive(1), ...dead(1)]);
  await sim.pass(MINUTE);
  assert.equal(sim.bench.value('SELECT backoffs FROM pidb'), 1, 'the dead host was heard of last');
  const asked = sim.fetches.length;
  await sim.send(1, alive(2));
  await sim.pass(3 * HOUR);
  assert.equal(sim.fetches.length, asked);
  await sim.pass(2 * HOUR);
  assert.ok(sim.fetches.length > asked);
});

test('a wait that is from before the start is kept: which host it is of is not known any more', async () => {
  begin();
  await sim.send(1, dead(5));
  await sim.pass(12 * HOUR);
  await sim.crash();
  sim.start();
  sim.fetches.length = 0;
  await sim.send(1, alive(5));
  await sim.pass(1000);
  assert.equal(sim.fetches.length, 0);
  await sim.pass(25 * HOUR);
  assert.equal(held(), 5);
});

test('also over restarts, and when the urls are submitted again or deleted meanwhile', async () => {
  begin();
  await sim.send(1, [...dead(30), ...alive(5)]);
  for (let i = 0; i < 4; i++) {
    await sim.pass(15_000 * 2 ** i);
    await sim.crash();
    sim.start();
  }
  await sim.pass(10 * MINUTE);
  assert.equal(held(), 5);
  await sim.send(1, [...dead(20).slice(10), ...dead(10).map(one => ({ ...one, op: 'delete' as const }))]);
  isDown = false;
  await sim.pass(HOUR);
  assert.equal(held(), 25);
  assert.equal(sim.bench.value('SELECT count(*) FROM qdb'), 0);
});

test('the wait of a site of one host stays as it is: its sets wait, in their order', async () => {
  begin();
  sim.bench.db.prepare('DELETE FROM proots WHERE root <> ?').run(DEAD);
  sim.reload();
  await sim.send(1, dead(3));
  // What was sent ahead comes back.
  await sim.pass(1000);
  sim.fetches.length = 0;
  await sim.pass(MINUTE);
  assert.deepEqual(new Set(sim.fetches.map(fetch => fetch.url)), new Set([`${DEAD}0`]));
});
