/** Urls that nobody announced and that are not to be had, through the real dispatcher: redirects, failures, for how long each counts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Bench, url } from './support.js';
import { DAY, HOUR, LINKS, SECOND, idle, known, link, pathsOf, simulate, spidered } from './unasked-scene.js';

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

test('a seed is asked for again whatever is known but robots.txt, a link after a flush; what is not permitted is only noted', async t => {
  const codes: Record<string, number> = { '/gone': 404, '/private': 610 };
  const sim = simulate(t, path => {
    if (path === '/robots.txt') return { robots: 'User-agent: *\nDisallow: /forbidden' };
    if (path === '/moved') return { to: 'http://127.0.0.1/gone' };
    const code = codes[path];
    return code === undefined ? undefined : { code };
  });
  spidered(sim, 1);
  sim.start();
  const names = ['forbidden', 'gone', 'moved', 'private'];
  const asked = async (hops: string) => {
    const before = sim.fetches.length;
    await sim.send(
      1,
      names.map(name => ({ ...link(name), hops })),
      LINKS,
    );
    assert.ok(await idle(sim));
    return pathsOf(sim.fetches.slice(before)).toSorted();
  };
  assert.deepEqual(await asked('0'), ['/gone', '/moved', '/private', '/robots.txt']);
  assert.deepEqual(
    known(sim).map(([path, code, , lasts]) => [path, code, lasts === 0]),
    [
      ['/forbidden', 615, false],
      ['/gone', 404, false],
      ['/moved', 301, false],
      ['/private', 610, true],
    ],
  );
  assert.deepEqual(await asked('1'), ['/private']);
  assert.deepEqual(await asked('0'), ['/gone', '/moved', '/private']);
  assert.deepEqual(
    sim.bench.store.transaction(() => sim.bench.store.flushKnown(2)),
    [],
  );
  assert.deepEqual(
    sim.bench.store.transaction(() => sim.bench.store.flushKnown()),
    [1],
  );
  assert.deepEqual(
    sim.bench.store.transaction(() => sim.bench.store.flushKnown(1)),
    [],
  );
  assert.deepEqual(await asked('1'), ['/gone', '/moved', '/private']);
  delete codes['/gone'];
  assert.deepEqual(await asked('0'), ['/gone', '/moved', '/private']);
  assert.equal(sim.bench.db.prepare('SELECT hops FROM lccurl').pluck().get(), 0);
});

test('a flush ends no more than some of what is known, over all providers, and the next one the rest', () => {
  const bench = new Bench();
  const { store } = bench;
  for (const pid of [1, 2, 3]) {
    bench.provider(pid);
    for (let i = 0; i < 3; i++)
      store.transaction(() =>
        store.known.note({ pid, curl: `http://h/${i}`, hops: 1 }, { code: 404, absence: 'gone' }, 1000 + i),
      );
  }
  const ended = () => bench.db.prepare('SELECT count(*) FROM known WHERE until <= 2000').pluck().get();
  const flush = (pid?: number) => [store.transaction(() => store.known.flush(2000, pid, 4)), ended()];
  assert.deepEqual(flush(), [[1, 2], 4]);
  assert.deepEqual(flush(3), [[3], 7]);
  assert.deepEqual(flush(), [[2], 9]);
  assert.deepEqual(flush(), [[], 9]);
  bench.close();
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
