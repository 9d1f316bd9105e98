/** The pause between two fetches from a provider, through the real dispatcher. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { LastEnds } from '../../src/qm/schedule/pace.js';
import { Simulation, type Fetch, type SimulationOptions } from './simulation.js';
import { failure, ok, url } from './support.js';

const SECOND = 1000;

function simulate(t: TestContext, more: Partial<SimulationOptions> = {}): Simulation {
  const sim = new Simulation({
    site: request => ({ result: ok(request.url, { fileId: request.url }), tookMs: 50 }),
    ...more,
  });
  t.after(() => sim.close());
  return sim;
}

const pages = (pid: number, count: number) => Array.from({ length: count }, (_, i) => url(`${pid}/${i}`));

/** From the end of each fetch to the beginning of the next. */
function pausesOf(fetches: readonly Fetch[]): number[] {
  return fetches.slice(1).map((fetch, i) => fetch.monotonicMs - (fetches[i]?.endMs ?? Infinity));
}
const of = (sim: Simulation, pid: number) => sim.fetches.filter(fetch => fetch.pid === pid);

test('a provider with a pace is left alone for as long between two fetches, whatever else it may have; others are not', async t => {
  const sim = simulate(t, { window: 64 });
  sim.bench.provider(1, { pacems: 500, parallel: 4 });
  sim.bench.provider(2);
  sim.start();
  await sim.send(1, pages(1, 21));
  await sim.send(2, pages(2, 200));
  assert.ok(await sim.until(() => of(sim, 2).length === 200, 12 * SECOND), 'nobody else waits');
  assert.ok(await sim.until(() => !sim.status().isBusy, 20 * SECOND));
  const pauses = pausesOf(of(sim, 1));
  assert.equal(pauses.length, 20);
  assert.ok(
    pauses.every(ms => ms >= 500 && ms <= 501),
    pauses.join(' '),
  );
});

test('the pace of all is that of who has none of his own, and 0 is none', async t => {
  const sim = simulate(t, { paceMs: 2000 });
  sim.bench.provider(1);
  sim.bench.provider(2, { pacems: 0 });
  sim.bench.provider(3, { pacems: 100 });
  sim.start();
  for (const pid of [1, 2, 3]) await sim.send(pid, pages(pid, 4));
  assert.ok(await sim.until(() => !sim.status().isBusy, 20 * SECOND));
  for (const [pid, paceMs] of [
    [1, 2000],
    [2, 0],
    [3, 100],
  ] as const)
    assert.ok(
      pausesOf(of(sim, pid)).every(ms => ms >= paceMs && ms <= paceMs + 1),
      `${pid}: ${pausesOf(of(sim, pid)).join(' ')}`,
    );
});

test('a provider whose links are followed is left alone for a second, or for twice the time that its last answer took', async t => {
  for (const [pacems, tookMs, pauseMs] of [
    [null, 50, 1000],
    [null, 4000, 8000],
    [null, 50_000, 30_000],
    [5000, 50, 5000],
    [200, 50, 200],
    [0, 4000, 0],
  ] as const) {
    const sim = simulate(t, {
      site: request => ({
        result: request.url.endsWith('/robots.txt')
          ? { ...failure(404, 'real'), elapsedMs: tookMs }
          : { ...ok(request.url, { fileId: request.url }), elapsedMs: tookMs },
        tookMs,
      }),
    });
    sim.bench.provider(1);
    sim.bench.db.exec(`UPDATE pidb SET spider = 1, pacems = ${pacems ?? 'NULL'}`);
    sim.start();
    await sim.pass(2 * SECOND);
    const links = Array.from({ length: 3 }, (_, i) => url(`${i}`, { mimetype: '*/*', hops: '1' }));
    await sim.send(1, links, { origin: 'links' });
    assert.ok(await sim.until(() => !sim.status().isBusy, 400 * SECOND));
    const pauses = pausesOf(sim.fetches);
    assert.ok(
      pauses.length === 3 && pauses.every(ms => ms >= pauseMs && ms <= pauseMs + 10),
      `--pace=${pacems}, ${tookMs} ms: ${pauses.join(' ')}`,
    );
  }
});

test('errors, tries that fail and sets of one url pause as well', async t => {
  const sim = simulate(t, {
    retries: 1,
    retryDelayMs: 10,
    site: (request, _pid) => ({
      result: request.url.endsWith('/1') ? failure(404, 'real') : failure(503, 'url'),
      tookMs: 50,
    }),
  });
  sim.bench.provider(1, { pacems: 500 });
  sim.start();
  for (const page of pages(1, 4)) {
    await sim.send(1, [page]);
    await sim.pass(100);
  }
  assert.ok(await sim.until(() => !sim.status().isBusy, 20 * SECOND));
  // A set that comes when nothing is queued any more.
  await sim.send(1, pages(1, 1));
  assert.ok(await sim.until(() => !sim.status().isBusy, 20 * SECOND));
  const pauses = pausesOf(sim.fetches);
  assert.ok(pauses.length >= 8);
  assert.ok(
    pauses.every(ms => ms >= 500),
    pauses.join(' '),
  );
});

for (const [how, end] of [
  ['a crash', (sim: Simulation) => sim.crash()],
  ['a restart', (sim: Simulation) => sim.stop()],
] as const)
  test(`${how} makes no pause shorter`, async t => {
    const sim = simulate(t);
    sim.bench.provider(1, { pacems: 10_000 });
    sim.start();
    await sim.send(1, pages(1, 3));
    await sim.until(() => sim.fetches.some(({ endMs }) => endMs !== undefined), 20 * SECOND);
    const [{ endMs = 0 } = {}] = sim.fetches;
    await sim.pass(1000);
    await end(sim);
    sim.start();
    await sim.until(() => sim.fetches.length > 1, 30 * SECOND);
    const pauseMs = (sim.fetches[1]?.monotonicMs ?? 0) - endMs;
    assert.ok(pauseMs >= 10_000 && pauseMs <= 11_100, `${pauseMs}`);
  });

test('another pace has its effect at once, and the operator may end a pause', async t => {
  const sim = simulate(t);
  sim.bench.provider(1, { pacems: 3_600_000 });
  sim.start();
  await sim.pass(3_600_000);
  await sim.send(1, pages(1, 5));
  await sim.pass(60 * SECOND);
  assert.equal(sim.fetches.length, 1);
  sim.forgetDelays(1);
  await sim.pass(SECOND);
  assert.equal(sim.fetches.length, 2);
  sim.bench.db.exec('UPDATE pidb SET pacems = 100');
  sim.reload();
  await sim.pass(SECOND);
  assert.equal(sim.fetches.length, 5);
});

test('providers whose pause is over are not remembered for ever', () => {
  const ends = new LastEnds(5);
  for (let pid = 1; pid <= 1000; pid++) ends.note(pid, { endedMs: pid * 60_000, tookMs: pid });
  assert.equal(ends.size, 60);
  assert.deepEqual(ends.of(1000), { endedMs: 60_000_000, tookMs: 1000 });
  assert.deepEqual(ends.of(1), { endedMs: 5, tookMs: 0 });
});
