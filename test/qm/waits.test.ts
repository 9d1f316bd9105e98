/** How long sites and urls are left alone at most, through the real dispatcher. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { Simulation, type Site } from './simulation.js';
import { failure, ok, url } from './support.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NOW = Date.UTC(2026, 5, 1);

let sim: Simulation;
afterEach(() => sim.close());

function begin(site: Site, more: { startMs?: number; retries?: number } = {}): void {
  sim = new Simulation({
    startMs: NOW,
    backoff: { minMs: 10_000, maxMs: HOUR },
    site,
    ...more,
  });
  sim.bench.provider(1);
  sim.start();
}

test('a url that fails again and again waits no longer than a site may, and is reported in the end', async () => {
  begin(() => ({ result: failure(503, 'url'), tookMs: 10 }), { retries: 20 });
  await sim.send(1, [url('a')]);
  await sim.pass(DAY);
  assert.deepEqual(sim.bench.all('SELECT code FROM pierr'), [{ code: 503 }]);
});

test('what a site asked for while the clock was a year ahead is forgotten when it has answered', async () => {
  let patience: { retryAfterMs?: number } = { retryAfterMs: 30_000 };
  begin(
    ({ url: asked }) => ({
      result: patience.retryAfterMs === undefined ? ok(asked) : failure(429, 'url', patience),
      tookMs: 10,
    }),
    { startMs: NOW + 365 * DAY },
  );
  await sim.send(1, [url('a')]);
  await sim.pass(1000);
  patience = {};
  sim.clock.jumpTo(NOW);
  await sim.pass(MINUTE);
  assert.equal(sim.bench.value('SELECT count(*) FROM lccurl'), 1);
  await sim.crash();
  sim.start();
  await sim.send(1, [url('b')]);
  await sim.pass(MINUTE);
  assert.equal(sim.bench.value('SELECT count(*) FROM lccurl'), 2);
});
