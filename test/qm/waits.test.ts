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
  const seconds = sim.fetches.map(({ monotonicMs }) => Math.round(monotonicMs / 1000));
  const waitedS = seconds.slice(1).map((atS, index) => atS - (seconds[index] ?? 0));
  const hours = Array<number>(11).fill(3600);
  assert.deepEqual(waitedS, [10, 20, 40, 80, 160, 320, 640, 1280, 2560, ...hours]);
});

test('what fails together in one outage counts as one failure of the site', async () => {
  let isDown = true;
  begin(({ url: asked }) => ({ result: isDown ? failure(602, 'provider') : ok(asked), tookMs: 100 }));
  sim.bench.db.prepare('UPDATE pidb SET parallel = 4').run();
  sim.reload();
  await sim.send(
    1,
    Array.from({ length: 40 }, (_, i) => url(`p${i}`)),
  );
  await sim.pass(1000);
  const failed = sim.fetches.length;
  assert.ok(failed >= 4);
  assert.equal(sim.bench.value('SELECT backoffs FROM pidb'), 1);
  await sim.pass(9000);
  assert.equal(sim.bench.value('SELECT backoffs FROM pidb'), 2);
  assert.equal(sim.fetches.length, failed + 1, 'it is tried with one url');
  isDown = false;
  await sim.pass(MINUTE);
  assert.equal(sim.bench.value('SELECT count(*) FROM lccurl'), 40);
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

test('what is written is no longer than what is done, after a clock that was twenty days ahead', async () => {
  begin(() => ({ result: failure(602, 'provider'), tookMs: 10 }), { startMs: NOW + 20 * DAY });
  sim.bench.provider(2, { bandwidth: 1000 });
  await sim.send(1, [url('a')]);
  await sim.pass(1000);
  sim.bench.db.prepare('UPDATE pidb SET dueat = ? WHERE pid = 2').run(NOW + 21 * DAY);
  sim.bench.db.prepare("UPDATE counter SET value = ? WHERE name = 'dueat'").run(NOW + 21 * DAY);
  await sim.crash();
  sim.clock.jumpTo(NOW);
  sim.start();
  const [first, second] = sim.bench.all<{ backoffuntil: number; dueat: number }>(
    'SELECT backoffuntil, dueat FROM pidb ORDER BY pid',
  );
  assert.equal(first?.backoffuntil, (NOW + HOUR) / 1000);
  assert.equal(second?.dueat, NOW + HOUR);
  assert.equal(sim.bench.value("SELECT value FROM counter WHERE name = 'dueat'"), NOW + HOUR);
});
