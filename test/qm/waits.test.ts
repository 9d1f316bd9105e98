/** How long sites and urls are left alone at most, through the real dispatcher. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { Simulation, type SimulationOptions, type Site } from './simulation.js';
import { failure, ok, url } from './support.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NOW = Date.UTC(2026, 5, 1);

let sim: Simulation;
afterEach(() => sim.close());

function begin(site: Site, more: Partial<SimulationOptions> = {}): void {
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
  assert.deepEqual(sim.bench.all('SELECT code FROM pierr ORDER BY errseq'), [{ code: 503 }]);
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

test('a site that asks to be left alone for a year is asked again after the longest wait there is', async () => {
  let retryAfterMs: number | undefined = 365 * DAY;
  begin(({ url: asked }) => ({
    result: retryAfterMs === undefined ? ok(asked) : failure(503, 'url', { retryAfterMs }),
    tookMs: 10,
  }));
  await sim.send(1, [url('a')]);
  await sim.pass(HOUR - MINUTE);
  assert.equal(sim.fetches.length, 1);
  retryAfterMs = undefined;
  await sim.pass(2 * MINUTE);
  assert.equal(sim.bench.value('SELECT count(*) FROM lccurl'), 1);
});

test('the waits of a site that does not answer grow over crashes and restarts as they do without', async () => {
  begin(() => ({ result: failure(602, 'provider'), tookMs: 10 }), { random: () => 1 });
  await sim.send(1, [url('a')]);
  for (let tries = 1; tries <= 6; tries++) {
    assert.ok(await sim.until(() => sim.fetches.length === tries, HOUR));
    await sim.pass(1000);
    await (tries % 2 === 0 ? sim.stop() : sim.crash());
    sim.start();
  }
  const seconds = sim.fetches.map(({ monotonicMs }) => monotonicMs / 1000);
  const waitedS = seconds.slice(1).map((atS, index) => atS - (seconds[index] ?? 0));
  // Written in whole seconds.
  assert.deepEqual(
    waitedS.map(waited => 10 * Math.round(waited / 10)),
    [10, 20, 40, 80, 160],
  );
});

test('that a site does not answer is written, whatever is read of its provider before that', async () => {
  begin(() => ({ result: failure(602, 'provider'), tookMs: 10 }), { random: () => 1 });
  sim.onEnd = () => process.nextTick(() => sim.reload());
  await sim.send(1, [url('a')]);
  await sim.pass(1000);
  await sim.crash();
  sim.start();
  await sim.pass(8000);
  assert.equal(sim.fetches.length, 1);
  await sim.pass(2000);
  assert.equal(sim.fetches.length, 2);
});

test('a Bot Manager hears that it is known that a site wants to be left alone, also with nothing more on its way', async () => {
  begin(() => ({ result: failure(429, 'url', { retryAfterMs: 30_000 }), tookMs: 10 }));
  await sim.send(1, [url('a')]);
  await sim.pass(1000);
  assert.equal(sim.fetches.length, 1);
  assert.equal(sim.recalls, 1);
});

test('what the operator flushes is tried at once, urls that failed included', async () => {
  begin(() => ({ result: failure(503, 'url'), tookMs: 10 }));
  await sim.send(1, [url('a')]);
  await sim.pass(1000);
  assert.equal(sim.fetches.length, 1);
  sim.forgetDelays(1);
  await sim.pass(1000);
  assert.equal(sim.fetches.length, 2);
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
  assert.equal(first?.backoffuntil, NOW / 1000 + 8);
  assert.equal(second?.dueat, NOW + HOUR);
  assert.equal(sim.bench.value("SELECT value FROM counter WHERE name = 'dueat'"), NOW + HOUR);
});

test('a wait of seconds stays one of seconds when the clock is set back before the next start', async () => {
  begin(() => ({ result: failure(602, 'provider'), tookMs: 10 }), { startMs: NOW + 20 * DAY });
  await sim.send(1, [url('a')]);
  await sim.pass(1000);
  assert.equal(sim.fetches.length, 1);
  await sim.crash();
  sim.clock.jumpTo(NOW);
  sim.start();
  await sim.pass(10_000);
  assert.equal(sim.fetches.length, 2);
});

test('what a site asked for is neither cut nor made longer when the clock is set back before the next start', async () => {
  begin(() => ({ result: failure(503, 'url', { retryAfterMs: 20 * MINUTE }), tookMs: 10 }), {
    startMs: NOW + 20 * DAY,
  });
  await sim.send(1, [url('a')]);
  await sim.pass(1000);
  await sim.crash();
  sim.clock.jumpTo(NOW);
  sim.start();
  await sim.pass(19 * MINUTE);
  assert.equal(sim.fetches.length, 1);
  await sim.pass(2 * MINUTE);
  assert.equal(sim.fetches.length, 2);
});

for (const [what, startMs] of [
  ['set back', NOW + 20 * DAY],
  ['put right after a start in 1970', 0],
] as const) {
  test(`a clock that is ${what} while the Queue Manager runs leaves all waits as long as they are`, async () => {
    sim = new Simulation({
      startMs,
      backoff: { minMs: 10 * MINUTE, maxMs: HOUR },
      bandwidthBytesPerS: 1_000_000,
      retryDelayMs: 20 * MINUTE,
      site: ({ url: asked }, pid) => ({
        result: pid === 1 ? failure(602, 'provider') : ok(asked, { wireBytes: 600_000 }),
        tookMs: 10,
      }),
    });
    sim.bench.provider(1);
    sim.bench.provider(2, { bandwidth: 1000 });
    sim.start();
    await sim.send(1, [url('a')]);
    await sim.send(2, [url('b'), url('c')]);
    await sim.pass(2 * MINUTE);
    sim.clock.jumpTo(NOW);
    const jumpedMs = sim.clock.monotonicMs();
    await sim.pass(MINUTE);
    const [first, second] = sim.bench.all<{ backoffuntil: number; dueat: number }>(
      'SELECT backoffuntil, dueat FROM pidb ORDER BY pid',
    );
    // 7.5 minutes after 0, and 10 after that: some seconds are the first fetches.
    const leftMs = (untilMs: number) => Math.round((untilMs - NOW + jumpedMs) / MINUTE / 0.5) * 0.5;
    assert.equal(leftMs((first?.backoffuntil ?? 0) * 1000), 7.5);
    assert.equal(leftMs(second?.dueat ?? 0), 10);
    assert.ok(Number(sim.bench.value("SELECT value FROM counter WHERE name = 'dueat'")) < NOW + MINUTE);
    await sim.crash();
    sim.start();
    await sim.pass(3 * MINUTE);
    assert.equal(sim.fetches.filter(({ pid }) => pid === 1).length, 1);
    await sim.pass(2 * MINUTE);
    assert.equal(sim.fetches.filter(({ pid }) => pid === 1).length, 2);
  });
}

test('a wait that is taken up between a jump of the clock and the next look at it is as long as it was', async () => {
  let isBusy = true;
  begin(
    ({ url: asked }) => ({
      result: isBusy ? failure(503, 'url', { retryAfterMs: 20_000 }) : ok(asked),
      tookMs: 10,
    }),
    { startMs: NOW + 20 * DAY, retries: 0 },
  );
  await sim.send(1, [url('a')]);
  await sim.pass(1000);
  assert.equal(sim.status().providers, 0);
  isBusy = false;
  sim.clock.jumpTo(NOW);
  await sim.send(1, [url('b')]);
  await sim.pass(18_000);
  assert.equal(sim.bench.value('SELECT count(*) FROM lccurl'), 0);
  await sim.pass(3000);
  assert.equal(sim.bench.value('SELECT count(*) FROM lccurl'), 1);
});
