/**
 * Days of a thousand providers: hours of the day and of the week, bandwidths, priorities, sites that fail, restarts and a
 * change to winter time, on a clock that is told the time. What a fetch may do is judged from outside: by Intl, not by
 * the code under test.
 */
process.env['TZ'] = 'Europe/Berlin';

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UrlRecord } from '../../src/wire/url.js';
import { LATENCY_MS, Simulation, randomFrom, type Fetch } from './simulation.js';
import { failure, ok, url } from './support.js';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK_HOURS = 168;
const MAX_FETCH_MS = 2 * SECOND;

/** One provider in this many has a limit, and enough to fetch to meet it for minutes. */
const LARGE_SHARE = 50;

interface SimulatedProvider {
  pid: number;
  isLarge: boolean;
  mask: string;
  bandwidth: number;
  priority: number;
  parallel: number;
  /** Of one url. */
  bytes: number;
  /** Its site does not answer. */
  downFromMs: number;
  downUntilMs: number;
  urls: Map<string, string | undefined>;
  arrivedMs: number;
  firstMs: number | undefined;
}

const weekHour = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'Europe/Berlin',
  weekday: 'short',
  hour: '2-digit',
  hourCycle: 'h23',
});
const DAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

/** The hour of the week, Monday 0 h first. */
function hourAt(atMs: number): number {
  const parts = Object.fromEntries(weekHour.formatToParts(atMs).map(({ type, value }) => [type, value]));
  return DAYS.indexOf(parts['weekday'] ?? '') * 24 + Number(parts['hour']);
}

function maskPermits(mask: string, hour: number): boolean {
  return mask === '' || mask[hour % mask.length] === '1';
}

function todPermits(tod: string | undefined, hour: number): boolean {
  if (tod === undefined) return true;
  const numbers = tod.split(/[,-]/).map(Number);
  const at = numbers.some(n => n > 23) ? hour : hour % 24;
  return tod.split(',').some(range => {
    const [from = 0, to = from] = range.split('-').map(Number);
    return from <= to ? from <= at && at <= to : at >= from || at <= to;
  });
}

function neverMeet(mask: string, tod: string | undefined): boolean {
  return !Array.from({ length: WEEK_HOURS }, (_, h) => h).some(
    h => maskPermits(mask, h) && todPermits(tod, h),
  );
}

/** No stretch of 60 s has more than 5 % above the limit. @returns the highest share of it that one has */
function assertPace(fetches: readonly Fetch[], bytesPerS: number, who: string): number {
  let first = 0;
  let bytes = 0;
  let most = 0;
  for (const fetch of fetches) {
    bytes += fetch.bytes;
    while ((fetches[first]?.monotonicMs ?? 0) <= fetch.monotonicMs - MINUTE)
      bytes -= fetches[first++]?.bytes ?? 0;
    assert.ok(
      bytes <= bytesPerS * 60 * 1.05,
      `${who}: ${bytes} bytes in a minute, ${bytesPerS * 60} permitted`,
    );
    most = Math.max(most, bytes / (bytesPerS * 60));
  }
  return most;
}

interface Scenario {
  providers: number;
  startMs: number;
  seed: number;
  /** Fewer than there is work for. */
  slots: number;
  /** Of all together. */
  bandwidthBytesPerS: number;
  /** Hours after the start at which the Queue Manager is ended, by turns with warning and without. */
  restartsAtH: number[];
}

async function live({
  providers: count,
  slots,
  bandwidthBytesPerS,
  startMs,
  seed,
  restartsAtH,
}: Scenario): Promise<string> {
  const random = randomFrom(seed);
  const pick = <T>(...from: T[]): T => from[Math.floor(random() * from.length)] as T;
  const between = (min: number, max: number) => Math.floor(min + random() * (max - min));
  const providers = new Map<number, SimulatedProvider>();
  const failing = new Map<string, number>();
  /** When a site asked to be left alone until, monotonic. */
  const retryAfter = new Map<number, { sinceMs: number; untilMs: number }>();
  const sim = new Simulation({
    startMs,
    workerSlots: slots,
    maxFetches: Infinity,
    slots: 168,
    bandwidthBytesPerS,
    lanes: { overbookPercent: 25, turn: 32, ageingMs: 10 * DAY },
    random,
    site(request, pid, atMs) {
      const provider = providers.get(pid);
      assert.ok(provider);
      const tookMs = between(10, Math.min(MAX_FETCH_MS, provider.bandwidth > 0 ? 200 : MAX_FETCH_MS));
      const wireBytes = Math.round(provider.bytes * (0.5 + random()));
      const name = request.url;
      if (atMs >= provider.downFromMs && atMs < provider.downUntilMs)
        return { result: failure(602, 'provider'), tookMs };
      const failures = failing.get(name) ?? (random() < 0.03 ? between(1, 5) : 0);
      failing.set(name, failures - 1);
      if (failures <= 0)
        return random() < 0.01
          ? { result: failure(404, 'real', { wireBytes: 300 }), tookMs }
          : { result: ok(name, { wireBytes, fileId: `f${sim.fetches.length}` }), tookMs };
      return random() < 0.5
        ? { result: failure(503, 'url', { wireBytes: 300 }), tookMs }
        : { result: failure(429, 'url', { wireBytes: 300, retryAfterMs: between(1, 300) * SECOND }), tookMs };
    },
  });
  const running = new Map<number, number>();
  sim.onBegin = fetch => {
    const provider = providers.get(fetch.pid);
    assert.ok(provider);
    const tod = provider.urls.get(fetch.url);
    const hour = hourAt(fetch.atMs);
    assert.ok(
      maskPermits(provider.mask, hour) && todPermits(tod, hour),
      `provider ${fetch.pid}, tod ${tod}: fetched at hour ${hour}, mask ${provider.mask}`,
    );
    const fetching = (running.get(fetch.pid) ?? 0) + 1;
    running.set(fetch.pid, fetching);
    assert.ok(fetching <= provider.parallel, `provider ${fetch.pid}: ${fetching} fetches at once`);
    const { sinceMs = 0, untilMs = 0 } = retryAfter.get(fetch.pid) ?? {};
    // One more may have begun before it was called back, more of a parallel provider.
    assert.ok(
      provider.parallel > 1 || fetch.monotonicMs >= untilMs - 1 || fetch.monotonicMs <= sinceMs + LATENCY_MS,
      `provider ${fetch.pid} wanted to be left alone`,
    );
    provider.firstMs ??= fetch.monotonicMs;
  };
  sim.onEnd = fetch => {
    running.set(fetch.pid, (running.get(fetch.pid) ?? 1) - 1);
    const { result } = fetch;
    if (result?.status === 'error' && result.retryAfterMs !== undefined)
      retryAfter.set(fetch.pid, {
        sinceMs: sim.clock.monotonicMs(),
        untilMs: sim.clock.monotonicMs() + result.retryAfterMs,
      });
  };
  try {
    for (let pid = 1; pid <= count; pid++) {
      const isLarge = pid % LARGE_SHARE === 0;
      const bandwidth = isLarge || random() < 0.3 ? between(5_000, 50_000) : 0;
      const share = 0.3 + random() * 0.6;
      const mask = (slots: number) =>
        Array.from({ length: slots }, () => (random() < share ? '1' : '0'))
          .join('')
          .replace(/^0+$/, '1'.repeat(slots));
      const downFromMs = random() < 0.1 ? startMs + between(0, 20) * HOUR : Infinity;
      const provider = {
        pid,
        isLarge,
        mask: isLarge ? '' : pick('', '', mask(24), mask(24), mask(168)),
        bandwidth,
        priority: random() < 0.04 ? 2 : random() < 0.5 ? 1 : 0,
        parallel: random() < 0.1 ? 3 : 1,
        bytes: bandwidth > 0 ? Math.round((bandwidth * between(100, 600)) / 1000) : between(500, 9000),
        downFromMs,
        downUntilMs: downFromMs + between(1, 8) * HOUR,
        urls: new Map<string, string | undefined>(),
        arrivedMs: 0,
        firstMs: undefined,
      };
      providers.set(pid, provider);
      sim.bench.provider(pid, {
        timeofday: provider.mask,
        bandwidth,
        priority: provider.priority,
        parallel: provider.parallel,
      });
    }
    sim.start();
    let announced = 0;
    const announce = async (provider: SimulatedProvider): Promise<void> => {
      const records: UrlRecord[] = [];
      for (let i = provider.isLarge ? between(300, 500) : between(2, 20); i > 0; i--) {
        const tod =
          !provider.isLarge && random() < 0.25
            ? pick('0-7', '22-5', '8', '12-13,20', '30-40', '120-167', '100-2', '16-17')
            : undefined;
        const name = `${provider.pid}/${announced++}`;
        provider.urls.set(`http://127.0.0.1/${name}`, tod);
        records.push(
          url(name, { ...(tod === undefined ? undefined : { tod }), len: String(provider.bytes) }),
        );
      }
      await sim.send(provider.pid, records);
      provider.arrivedMs ||= sim.clock.monotonicMs();
    };
    // Ordinary sites come in the first hours; those of priority 2 while everything is busy.
    const events: { atMs: number; act: () => Promise<void> }[] = [];
    for (const provider of providers.values()) {
      const atMs = provider.priority === 2 ? between(5, 20) * MINUTE : between(0, 20) * MINUTE;
      events.push({ atMs, act: () => announce(provider) });
      if (random() < 0.3) events.push({ atMs: atMs + between(1, 30) * HOUR, act: () => announce(provider) });
    }
    let restarts = 0;
    for (const atH of restartsAtH) {
      events.push({
        atMs: atH * HOUR + between(0, 60) * MINUTE,
        act: async () => {
          await (restarts++ % 2 === 0 ? sim.crash() : sim.stop());
          running.clear();
          // What was not yet committed is not known any more.
          for (const [pid, { sinceMs }] of retryAfter)
            if (sinceMs > sim.clock.monotonicMs() - SECOND) retryAfter.delete(pid);
          await sim.pass(between(0, 90) * MINUTE);
          sim.start();
        },
      });
    }
    for (const { atMs, act } of events.sort((a, b) => a.atMs - b.atMs)) {
      await sim.pass(Math.max(0, atMs - sim.clock.monotonicMs()));
      await act();
    }
    const isDone = () => !sim.status().isBusy && sim.bench.value('SELECT count(*) FROM qdb') === 0;
    while (!(await sim.until(isDone, HOUR))) {
      assert.ok(
        sim.clock.monotonicMs() < 40 * DAY,
        `still waiting: ${JSON.stringify(sim.bench.all('SELECT * FROM qdb LIMIT 5'))}`,
      );
    }

    // Everything was fetched or reported, and nothing else was.
    const stored = new Set(sim.bench.all<{ curl: string }>('SELECT curl FROM lccurl').map(row => row.curl));
    const reported = sim.bench.all<{ code: number; attrs: string }>('SELECT code, attrs FROM pierr');
    assert.equal(stored.size + reported.length, announced);
    let never = 0;
    for (const { pid, mask, urls } of providers.values()) {
      for (const [curl, tod] of urls) {
        if (!neverMeet(mask, tod)) continue;
        never++;
        assert.ok(!stored.has(curl), `provider ${pid}: ${curl} has no hour`);
      }
    }
    assert.equal(reported.filter(({ code }) => code === 614).length, never);
    assert.deepEqual(sim.bench.all('SELECT * FROM qpsdb'), []);

    // Bandwidth.
    if (bandwidthBytesPerS > 0) assertPace(sim.fetches, bandwidthBytesPerS, 'all together');
    let met = 0;
    for (const { pid, bandwidth } of providers.values()) {
      if (bandwidth === 0) continue;
      const fetches = sim.fetches.filter(fetch => fetch.pid === pid);
      if (assertPace(fetches, bandwidth, `provider ${pid}`) > 0.95) met++;
    }
    assert.ok(met > 0 || bandwidthBytesPerS > 0, 'limits are met');

    // Priority 2 has a slot as soon as one url of another is done, and it need not wait for its hours or its site.
    let hurried = 0;
    for (const { pid, priority, mask, arrivedMs, firstMs, downFromMs } of providers.values()) {
      const hour = hourAt(startMs + arrivedMs);
      if (priority !== 2 || !maskPermits(mask, hour) || hourAt(startMs + arrivedMs + 10 * SECOND) !== hour)
        continue;
      if (
        downFromMs !== Infinity ||
        ![...(providers.get(pid)?.urls.values() ?? [])].slice(0, 1).every(tod => todPermits(tod, hour))
      )
        continue;
      hurried++;
      const waitedMs = (firstMs ?? Infinity) - arrivedMs;
      assert.ok(waitedMs <= 2 * MAX_FETCH_MS, `provider ${pid} of priority 2 waited ${waitedMs} ms`);
    }
    assert.ok(hurried > 0 && sim.recalls > 0 && never > 0);
    const days = Math.round((sim.clock.monotonicMs() / DAY) * 10) / 10;
    return `${announced} urls, ${sim.fetches.length} fetches in ${days} days, ${stored.size} stored, ${reported.length} reported (${never} without an hour), ${sim.recalls} recalls`;
  } finally {
    sim.close();
  }
}

test('a thousand providers through the end of summer time: hours, bandwidth, serial, priorities, nothing left', async t => {
  const startMs = Date.UTC(2026, 9, 24, 15, 20);
  t.diagnostic(
    await live({
      providers: 1000,
      slots: 8,
      bandwidthBytesPerS: 0,
      startMs,
      seed: 7,
      restartsAtH: [2, 9, 31],
    }),
  );
});

test('a hundred providers through its beginning', async t => {
  const startMs = Date.UTC(2026, 2, 28, 17, 45);
  t.diagnostic(
    await live({
      providers: 100,
      slots: 2,
      bandwidthBytesPerS: 20_000,
      startMs,
      seed: 11,
      restartsAtH: [7, 8],
    }),
  );
});
