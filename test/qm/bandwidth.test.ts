/** Bandwidth where there is always enough to fetch: neither more nor less than permitted, a restart in between or not. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { changeProvider } from '../../src/db/providers/pidb.js';
import { Simulation, randomFrom, type Fetch, type SimulationOptions } from './simulation.js';
import { failure, ok, unchanged, url } from './support.js';
import { amount, longIt } from '../support/long.js';

const MINUTE = 60_000;

/** One that ends with its test. */
function simulate(t: TestContext, more: Partial<SimulationOptions>): Simulation {
  const random = randomFrom(5);
  const sim = new Simulation({
    workerSlots: 16,
    lanes: { overbookPercent: 25, turn: 32 },
    random,
    site: request => ({
      result: ok(request.url, { wireBytes: Math.round(2000 + random() * 6000), fileId: request.url }),
      tookMs: 1 + random() * 80,
    }),
    ...more,
  });
  t.after(() => sim.close());
  return sim;
}

/** A site with pages of 100 KB. */
const largePages: SimulationOptions['site'] = request => ({
  result: ok(request.url, { wireBytes: 100_000, fileId: request.url }),
  tookMs: 100,
});
/** Milliseconds from the beginning of one fetch to that of another. */
const between = (one: Fetch | undefined, other: Fetch | undefined) =>
  (other?.monotonicMs ?? 0) - (one?.monotonicMs ?? 0);

const pages = (pid: number, count: number) => Array.from({ length: count }, (_, i) => url(`${pid}/${i}`));

/** Any 60 s between the first fetch and the last are within 5 % of the limit, or, for all that is known, above `least`. */
function assertAverage(fetches: readonly Fetch[], bytesPerS: number, least = 0.95): void {
  const lastMs = fetches.at(-1)?.monotonicMs ?? 0;
  let windows = 0;
  fetches.forEach((from, index) => {
    const endMs = from.monotonicMs + MINUTE;
    if (endMs > lastMs) return;
    windows++;
    let bytes = 0;
    for (let i = index; i < fetches.length; i++) {
      const fetch = fetches[i];
      if (fetch === undefined || fetch.monotonicMs >= endMs) break;
      bytes += fetch.bytes;
    }
    const share = bytes / (bytesPerS * 60);
    assert.ok(share >= least && share <= 1.05, `${share} of the limit, a minute from ${from.monotonicMs}`);
  });
  assert.ok(windows > 100, 'enough was fetched to judge');
}

test('a limited provider is fetched from at its limit, however many others are', async t => {
  const sim = simulate(t, {});
  const limits = new Map([
    [1, 20_000],
    [2, 50_000],
    [3, 5000],
  ]);
  for (const [pid, bandwidth] of limits) sim.bench.provider(pid, { bandwidth });
  for (let pid = 10; pid < 20; pid++) sim.bench.provider(pid);
  sim.start();
  for (const [pid, bandwidth] of limits)
    await sim.send(pid, pages(pid, Math.max(180, bandwidth / amount(50, 25))));
  for (let pid = 10; pid < 20; pid++) await sim.send(pid, pages(pid, 100));
  assert.ok(await sim.until(() => !sim.status().isBusy, 3_600_000));
  for (const [pid, bandwidth] of limits)
    assertAverage(
      sim.fetches.filter(fetch => fetch.pid === pid),
      bandwidth,
    );
});

test('time lost waiting for a slot is made good', async t => {
  const sim = simulate(t, {
    workerSlots: 1,
    lanes: { overbookPercent: 0, turn: 8 },
    site: request => ({
      result: ok(request.url, { wireBytes: 2500, fileId: request.url }),
      tookMs: 40,
    }),
  });
  sim.bench.provider(1, { bandwidth: 5000 });
  sim.bench.provider(2);
  sim.start();
  await sim.send(2, pages(2, 4500));
  await sim.send(1, pages(1, 400));
  await sim.pass(3 * MINUTE);
  assertAverage(
    sim.fetches.filter(fetch => fetch.pid === 1),
    5000,
  );
});

test('all together are fetched from at the limit of the whole LCC, and every provider has its part', async t => {
  const sim = simulate(t, { bandwidthBytesPerS: 40_000 });
  for (let pid = 1; pid <= 40; pid++) sim.bench.provider(pid);
  sim.start();
  const each = amount(25, 50);
  for (let pid = 1; pid <= 40; pid++) await sim.send(pid, pages(pid, each));
  assert.ok(await sim.until(() => !sim.status().isBusy, 3_600_000));
  assert.equal(sim.fetches.length, 40 * each);
  assertAverage(sim.fetches, 40_000);
  const firsts = sim.fetches.slice(0, 40).map(fetch => fetch.pid);
  assert.equal(new Set(firsts).size, 40, 'who waited longest was next');
});

for (const [how, end] of [
  ['a crash', (sim: Simulation) => sim.crash()],
  ['a restart', (sim: Simulation) => sim.stop()],
] as const) {
  /** Provider 1 has `count` pages of 100 KB, provider 2 one more after the first was fetched and all has ended. */
  const across = async (sim: Simulation, count: number): Promise<Fetch[]> => {
    sim.start();
    await sim.send(1, pages(1, count));
    await sim.until(() => sim.fetches.some(fetch => fetch.endMs !== undefined), MINUTE);
    await sim.pass(1000);
    await end(sim);
    await sim.pass(10_000);
    sim.start();
    await sim.send(2, pages(2, 1));
    assert.ok(await sim.until(() => !sim.status().isBusy, 3_600_000));
    return sim.fetches;
  };

  test(`${how} neither forgets what was fetched nor charges it twice`, async t => {
    const sim = simulate(t, { bandwidthBytesPerS: 20_000, site: largePages });
    sim.bench.provider(1, { bandwidth: 1000 });
    sim.bench.provider(2);
    const [first, other, second, ...more] = await across(sim, 2);
    assert.deepEqual(more, []);
    assert.deepEqual([first?.pid, other?.pid, second?.pid], [1, 2, 1]);
    // 100 KB at 1 KB/s; and at 20 KB/s, over by the time of the restart.
    const waitedMs = between(first, second);
    assert.ok(Math.abs(waitedMs - 100_000) <= 5000, `${waitedMs} ms until the second fetch`);
    assert.ok(between(first, other) < 15_000);
  });

  test(`${how} does not forget what all together have fetched`, async t => {
    const sim = simulate(t, { bandwidthBytesPerS: 1000, site: largePages });
    for (const pid of [1, 2]) sim.bench.provider(pid);
    const [first, second] = await across(sim, 1);
    const waitedMs = between(first, second);
    assert.ok(Math.abs(waitedMs - 100_000) <= 5000, `${waitedMs} ms until the second fetch`);
  });
}

for (const limited of ['provider', 'whole'] as const) {
  test(`what was called back before it began costs nothing of the bandwidth of the ${limited}`, async t => {
    const sim = simulate(t, {
      workerSlots: 1,
      lanes: { overbookPercent: 100, turn: 32 },
      bandwidthBytesPerS: limited === 'whole' ? 1000 : 0,
      site: request => ({ result: ok(request.url, { wireBytes: 100, fileId: request.url }), tookMs: MINUTE }),
    });
    sim.bench.provider(1);
    sim.bench.provider(2, { bandwidth: limited === 'provider' ? 1000 : 0 });
    sim.start();
    await sim.send(1, [url('1/0', { len: '0' })]);
    await sim.pass(5000);
    // This url stands after the one that is being fetched.
    await sim.send(2, [url('2/0', { len: '600000' })]);
    await sim.pass(5000);
    assert.equal(sim.waiting, 1);
    sim.bench.db.prepare('UPDATE pidb SET paused = 1 WHERE pid = 2').run();
    sim.reload();
    await sim.pass(5000);
    assert.deepEqual([sim.waiting, sim.recalls], [0, 1]);
    sim.bench.db.prepare('UPDATE pidb SET paused = 0 WHERE pid = 2').run();
    sim.reload();
    await sim.pass(5000);
    assert.equal(sim.waiting, 1, 'it does not wait for ten minutes that nothing was fetched in');
  });
}

for (const [what, answer] of [
  ['an error', failure(404, 'real')],
  ['a try that failed', failure(503, 'url')],
  ['unchanged content', unchanged],
] as const) {
  test(`${what} costs what it took, too`, async t => {
    let isFirst = true;
    const sim = simulate(t, {
      retries: 1,
      retryDelayMs: 1000,
      site: request => ({
        result: isFirst ? ok(request.url, { fileId: request.url }) : { ...answer, wireBytes: 3000 },
        tookMs: 10,
      }),
    });
    sim.bench.provider(1);
    sim.start();
    await sim.send(1, pages(1, 500));
    assert.ok(await sim.until(() => !sim.status().isBusy, MINUTE));
    isFirst = false;
    sim.fetches.length = 0;
    sim.bench.db.prepare('UPDATE pidb SET bandwidth = 10000').run();
    await sim.send(1, pages(1, 500));
    await sim.pass(2 * MINUTE);
    assertAverage(sim.fetches, 10_000);
  });
}

test('another limit has its effect at once', async t => {
  const sim = simulate(t, {
    site: request => ({ result: ok(request.url, { wireBytes: 1000, fileId: request.url }), tookMs: 10 }),
  });
  sim.bench.provider(1, { bandwidth: 1000 });
  sim.start();
  await sim.send(1, pages(1, 2000));
  const fetchedIn = async (ms: number) => {
    const before = sim.fetches.length;
    await sim.pass(ms);
    return sim.fetches.length - before;
  };
  const limit = (bandwidth: number) => {
    sim.bench.db.prepare('UPDATE pidb SET bandwidth = ?').run(bandwidth);
    sim.reload();
  };
  await sim.pass(MINUTE);
  assert.ok(Math.abs((await fetchedIn(MINUTE)) - 60) <= 3);
  limit(10_000);
  assert.ok(Math.abs((await fetchedIn(MINUTE)) - 600) <= 30);
  limit(0);
  assert.ok((await fetchedIn(MINUTE)) > 1000);
});

test('what is owed of a limit takes another time with another one, also when that was set while no Queue Manager ran', async t => {
  const sim = simulate(t, { site: largePages });
  sim.bench.provider(1, { bandwidth: 10 });
  sim.start();
  await sim.send(1, pages(1, 3));
  await sim.pass(MINUTE);
  assert.equal(sim.fetches.length, 1);
  // 100 KB at 10 B/s are hours, at 10 KB/s ten seconds.
  sim.bench.db.prepare('UPDATE pidb SET bandwidth = 10000').run();
  sim.reload();
  await sim.pass(9000);
  assert.equal(sim.fetches.length, 1);
  await sim.pass(2000);
  assert.equal(sim.fetches.length, 2);
  changeProvider(sim.bench.db, 1, { bandwidth: 10 });
  sim.reload();
  await sim.pass(MINUTE);
  await sim.stop();
  changeProvider(sim.bench.db, 1, { bandwidth: 10_000 });
  sim.start();
  await sim.pass(1000);
  assert.equal(sim.fetches.length, 3);
});

test('the operator may forget what was fetched', async t => {
  const sim = simulate(t, {
    site: largePages,
  });
  sim.bench.provider(1, { bandwidth: 100 });
  sim.start();
  await sim.send(1, pages(1, 2));
  await sim.pass(MINUTE);
  assert.equal(sim.fetches.length, 1);
  assert.ok(Number(sim.bench.value('SELECT dueat FROM pidb')) > sim.clock.nowMs());
  sim.forgetDelays(1);
  await sim.pass(1000);
  assert.equal(sim.fetches.length, 2);
});

test('a limit that is set while many urls are sent ahead calls those back', async t => {
  const sim = simulate(t, { site: largePages, window: 64 });
  sim.bench.provider(1);
  sim.start();
  await sim.send(1, pages(1, 200));
  await sim.pass(1000);
  assert.ok(sim.waiting > 30);
  sim.bench.db.exec('UPDATE pidb SET bandwidth = 10000');
  sim.reload();
  await sim.pass(1000);
  assert.equal(sim.waiting, 0);
  sim.fetches.length = 0;
  await sim.pass(MINUTE);
  assert.ok(sim.fetches.length <= 6, `${sim.fetches.length} fetches`);
});

/** Provider 1 announces a url of 90 GB, which its site is slow to answer with 100 bytes. */
async function announceTooMuch(sim: Simulation): Promise<void> {
  await sim.send(1, [url('1/0', { len: '90000000000' }), url('1/1')]);
  await sim.pass(1000);
  assert.deepEqual(
    sim.fetches.map(fetch => fetch.pid),
    [1],
  );
}
const slowAnswer: SimulationOptions['site'] = (request, pid) => ({
  result: ok(request.url, { wireBytes: 100, fileId: request.url }),
  tookMs: pid === 1 ? MINUTE : 10,
});

for (const [limit, terms, longestMs] of [
  ['the longest content that a robot takes', {}, 16_500],
  ['the longest content of its provider', { maxlen: 1_000_000 }, 2000],
] as const)
  test(`a length that is announced is charged up to ${limit}`, async t => {
    const sim = simulate(t, { bandwidthBytesPerS: 1_000_000, site: slowAnswer });
    sim.bench.provider(1, { bandwidth: 1_000_000, parallel: 2, ...terms });
    sim.bench.provider(2);
    sim.start();
    await announceTooMuch(sim);
    await sim.send(2, pages(2, 1));
    assert.ok(
      await sim.until(() => sim.fetches.some(({ pid }) => pid === 2), 1000),
      'others do not wait for it',
    );
    const own = () => sim.fetches.filter(({ pid }) => pid === 1);
    assert.ok(await sim.until(() => own().length === 2, MINUTE));
    const waitedMs = between(own()[0], own()[1]);
    assert.ok(waitedMs <= longestMs, `${waitedMs} ms until its next url is fetched`);
  });

for (const limited of ['provider', 'whole'] as const) {
  /** A url is being fetched that costs some hours when what is announced of it comes; what one before it cost is written. */
  const begun = async (t: TestContext) => {
    const sim = simulate(t, {
      bandwidthBytesPerS: limited === 'whole' ? 1000 : 0,
      site: request => ({
        result: ok(request.url, { wireBytes: 1, fileId: request.url }),
        tookMs: sim.fetches.length === 1 ? 10 * MINUTE : 10,
      }),
    });
    sim.bench.provider(1, { bandwidth: limited === 'provider' ? 1000 : 0 });
    sim.start();
    await sim.send(1, [url('1/0'), url('1/1', { len: '15000000' })]);
    assert.ok(await sim.until(() => sim.fetches.length === 2, MINUTE));
    await sim.pass(5000);
    return sim;
  };

  test(`what a lost Bot Manager had costs the ${limited} the time for which it had it`, async t => {
    const sim = await begun(t);
    const before = sim.fetches.length;
    sim.loseWorker();
    await sim.pass(1000);
    assert.equal(sim.fetches.length, before + 1, 'the url is fetched again at once');
  });

  test(`what was expected of a url when the result of another was written keeps the ${limited} waiting no longer`, async t => {
    const sim = simulate(t, {
      bandwidthBytesPerS: limited === 'whole' ? 1000 : 0,
      site: request => ({
        result: ok(request.url, { wireBytes: 1, fileId: request.url }),
        tookMs: request.url.endsWith('/0') ? 3000 : 10 * MINUTE,
      }),
    });
    sim.bench.provider(1, { bandwidth: limited === 'provider' ? 1000 : 0, parallel: 2 });
    sim.start();
    await sim.send(1, [url('1/0', { len: '1' }), url('1/1', { len: '15000000' })]);
    assert.ok(await sim.until(() => sim.fetches.length === 2, 2000), 'both are on their way');
    await sim.pass(5000);
    await sim.crash();
    sim.start();
    await sim.pass(1000);
    assert.equal(sim.fetches.length, 3, 'the url is fetched again at once');
  });

  test(`what was being fetched in a crash keeps the ${limited} waiting no longer`, async t => {
    const sim = await begun(t);
    const before = sim.fetches.length;
    await sim.crash();
    sim.start();
    await sim.pass(1000);
    assert.ok(sim.fetches.length > before, 'the url is fetched again at once');
  });
}

longIt('providers that announce too much again and again leave the others their bandwidth', async t => {
  const sim = simulate(t, {
    bandwidthBytesPerS: 1_000_000,
    site: (request, pid) => ({
      result: ok(request.url, { wireBytes: pid === 1 ? 50_000 : 100, fileId: request.url }),
      tookMs: pid === 1 ? 5 : 100_000,
    }),
  });
  for (let pid = 1; pid <= 12; pid++) sim.bench.provider(pid);
  sim.start();
  for (let pid = 2; pid <= 12; pid++)
    await sim.send(
      pid,
      pages(pid, 20).map(each => ({ ...each, len: '15000000' })),
    );
  await sim.send(1, pages(1, 20_000));
  await sim.pass(6 * MINUTE);
  sim.fetches.length = 0;
  await sim.pass(2 * MINUTE);
  const bytes = sim.fetches.reduce((sum, fetch) => sum + fetch.bytes, 0);
  assert.ok(bytes > 0.9 * 120_000_000, `${bytes} bytes in two minutes`);
});
