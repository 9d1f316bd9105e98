/** Urls that nobody announced and that are not to be had, through the real dispatcher: redirects, failures, for how long each counts. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { FetchDone, FetchInline, FetchRequest } from '../../src/wire/fetch.js';
import type { UrlRecord } from '../../src/wire/url.js';
import { Simulation, type Fetch, type SimulationOptions } from './simulation.js';
import { Bench, failure, ok, url } from './support.js';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const LINKS = { origin: 'links' } as const;

/** What a site says instead of a page: its robots.txt, a status, a redirect. */
type Answer = { robots: string; etag?: string } | { unchanged: true } | { code: number } | { to: string };

function answered(request: FetchRequest, answer: Answer | undefined): FetchDone | FetchInline {
  const cost = { id: request.id, wireBytes: 100, elapsedMs: 50 };
  if (answer === undefined) return ok(request.url, { fileId: request.url, elapsedMs: 50 });
  if ('robots' in answer) {
    const { robots, etag } = answer;
    const content = Buffer.from(robots);
    return {
      ...cost,
      status: 'inline',
      http: 200,
      content,
      isCut: false,
      ...(etag !== undefined && { etag }),
    };
  }
  if ('unchanged' in answer) return { ...cost, status: 'unchanged', http: 304 };
  if ('to' in answer) return { ...cost, status: 'redirect', http: 301, location: answer.to };
  const { code } = answer;
  return failure(code, code === 603 ? 'provider' : code >= 500 || code === 429 ? 'url' : 'real');
}

type Site = (path: string, request: FetchRequest, atMs: number) => Answer | undefined;

/** @param site undefined: a page */
function simulate(t: TestContext, site: Site, more: Partial<SimulationOptions> = {}): Simulation {
  const sim = new Simulation({
    site: (request, _pid, atMs) => ({
      result: answered(request, site(new URL(request.url).pathname, request, atMs)),
      tookMs: 50,
    }),
    ...more,
  });
  t.after(() => sim.close());
  return sim;
}

/** A provider whose links are followed. */
function spidered(sim: Simulation, pid: number, pacems: number | null = 0): void {
  sim.bench.provider(pid);
  sim.bench.db.exec(`UPDATE pidb SET spider = 1, pacems = ${pacems ?? 'NULL'} WHERE pid = ${pid}`);
}

const link = (path: string): UrlRecord => url(path, { mimetype: '*/*', ifabsent: 'yes', hops: '1' });
const pathsOf = (fetches: readonly Fetch[]) => fetches.map(fetch => new URL(fetch.url).pathname);
const idle = (sim: Simulation, limitMs = HOUR) => sim.until(() => !sim.status().isBusy, limitMs);
const known = (sim: Simulation) =>
  sim.bench.db
    .prepare('SELECT curl, code, times, until - asked AS lasts FROM known ORDER BY curl')
    .all()
    .map(row => Object.values(row as Record<string, string | number>))
    .map(([curl, ...rest]) => [new URL(String(curl)).pathname, ...rest]);

test('where a redirect leads is a link of as many hops: one request each, no page under two names', async t => {
  const to: Record<string, string> = {
    '/a': 'http://127.0.0.1/b?utm_source=x',
    '/b': 'http://127.0.0.1/c',
    '/d': 'http://127.0.0.1/c',
    '/loop': 'http://127.0.0.1/pool',
    '/pool': 'http://127.0.0.1/loop',
    '/out': 'http://elsewhere.example/',
  };
  const sim = simulate(t, path => {
    if (path === '/robots.txt') return { robots: 'User-agent: *\nDisallow: /forbidden' };
    const location = to[path];
    return location === undefined ? undefined : { to: location };
  });
  spidered(sim, 1);
  sim.start();
  await sim.send(1, ['a', 'd', 'loop', 'out'].map(link), LINKS);
  assert.ok(await idle(sim));
  assert.deepEqual(
    pathsOf(sim.fetches).toSorted(),
    ['/a', '/b', '/c', '/d', '/loop', '/out', '/pool', '/robots.txt'].toSorted(),
  );
  assert.deepEqual(sim.bench.db.prepare('SELECT curl, hops, served FROM lccurl').all(), [
    { curl: 'http://127.0.0.1/c', hops: 1, served: 1 },
  ]);
  assert.deepEqual(
    known(sim).map(([path, code]) => [path, code]),
    ['/a', '/b', '/d', '/loop', '/out', '/pool'].map(path => [path, 301]),
  );
  await sim.send(1, ['a', 'b', 'c', 'd', 'loop', 'pool', 'out'].map(link), LINKS);
  assert.ok(await idle(sim));
  assert.equal(sim.fetches.length, 8, 'a second time nothing is asked for');
  assert.equal(sim.bench.db.prepare('SELECT nurlproc FROM pidb').pluck().get(), 0);
});

test('redirects that lead on and on, each time elsewhere, end', async t => {
  const sim = simulate(t, path =>
    path === '/robots.txt' ? { robots: '' } : { to: `http://127.0.0.1/${Number(path.slice(1)) + 1}` },
  );
  spidered(sim, 1);
  sim.start();
  await sim.send(1, [link('0')], LINKS);
  assert.ok(await idle(sim));
  assert.equal(sim.fetches.length, 12);
});

test('what is not to be had is not asked for again before its time, and content or the owner ends that', async t => {
  const codes: Record<string, number> = { '/gone': 404, '/type': 303, '/busy': 503, '/secret': 403 };
  const sim = simulate(t, path => {
    if (path === '/robots.txt') return { robots: '' };
    const code = codes[path];
    return code === undefined ? undefined : { code };
  });
  spidered(sim, 1);
  sim.start();
  const all = Object.keys(codes).map(path => link(path.slice(1)));
  const day = DAY / SECOND;
  await sim.send(1, all, LINKS);
  assert.ok(await idle(sim));
  assert.deepEqual(known(sim), [
    ['/busy', 503, 1, day],
    ['/gone', 404, 1, 7 * day],
    ['/secret', 403, 1, 7 * day],
    ['/type', 303, 1, 30 * day],
  ]);
  const asked = sim.fetches.length;
  await sim.pass(23 * HOUR);
  await sim.send(1, all, LINKS);
  assert.ok(await idle(sim));
  assert.equal(sim.fetches.length, asked);
  await sim.pass(7 * DAY);
  await sim.send(1, all, LINKS);
  assert.ok(await idle(sim));
  assert.deepEqual(
    known(sim).map(([path, , times, lasts]) => [path, times, Number(lasts) / day]),
    [
      ['/busy', 2, 2],
      ['/gone', 2, 14],
      ['/secret', 2, 14],
      ['/type', 1, 30],
    ],
  );
  codes['/gone'] = 500;
  await sim.send(1, [url('gone')]);
  assert.deepEqual(known(sim).length, 3, 'the owner has announced it');
  delete codes['/secret'];
  await sim.pass(15 * DAY);
  await sim.send(1, all, LINKS);
  assert.ok(await idle(sim));
  assert.deepEqual(
    known(sim).map(([path]) => path),
    ['/busy', '/gone', '/type'],
    'content has come',
  );
});

test('of what is known not to be had the oldest goes when there is too much', () => {
  const bench = new Bench({ knownUrls: 20 });
  bench.provider(1);
  const { store } = bench;
  const curl = (i: number) => `http://127.0.0.1/${i}`;
  const gone = { code: 404, absence: 'gone' } as const;
  const note = (i: number) =>
    store.transaction(() => store.known.note({ pid: 1, curl: curl(i), hops: 1 }, gone, 1000 + i));
  for (let i = 0; i < 20; i++) note(i);
  for (let i = 0; i < 20; i++) note(i);
  const left = () => bench.db.prepare('SELECT count(*) FROM known').pluck().get() as number;
  assert.equal(left(), 20);
  // These were noted last, and twice.
  assert.throws(() =>
    store.transaction(() => {
      for (let i = 100; i < 110; i++) store.known.note({ pid: 1, curl: curl(i), hops: 1 }, gone, 5000);
      throw new Error('rolled back');
    }),
  );
  assert.equal(left(), 20);
  store.transaction(() =>
    store.known.note({ pid: 1, curl: curl(50), hops: 1 }, { code: 410, absence: 'gone' }, 2_000_000),
  );
  assert.ok(left() <= 20 && left() >= 18, `${left()}`);
  assert.ok(!store.known.isKnown(1, curl(0), 1000), 'the oldest');
  assert.ok(store.known.isKnown(1, curl(19), 1000) && store.known.isKnown(1, curl(50), 1000));
  bench.close();
});
