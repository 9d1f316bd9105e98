/** What nobody announced, through the real dispatcher: robots.txt and pauses. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Simulation } from './simulation.js';
import { url } from './support.js';
import {
  DAY,
  HOUR,
  LINKS,
  MINUTE,
  SECOND,
  idle,
  known,
  link,
  links,
  pathsOf,
  simulate,
  spidered,
} from './unasked-scene.js';
import { longIt } from '../support/long.js';

test('the first url of an origin asks for its robots.txt, once, and what that forbids is not asked for', async t => {
  const sim = simulate(t, path =>
    path === '/robots.txt'
      ? { robots: 'User-agent: lccbot\nDisallow: /3\n\nUser-agent: *\nDisallow: /' }
      : undefined,
  );
  spidered(sim, 1);
  sim.start();
  await sim.send(1, links(6), LINKS);
  assert.ok(await idle(sim));
  assert.deepEqual(pathsOf(sim.fetches), ['/robots.txt', '/0', '/1', '/2', '/4', '/5']);
  assert.deepEqual(known(sim), [['/3', 615, 1, DAY / SECOND]]);
  assert.deepEqual([sim.status().robots_asked, sim.status().robots_forbidden], [1, 1]);
  await sim.send(1, [...links(6), link('3x'), link('6')], LINKS);
  assert.ok(await idle(sim));
  assert.deepEqual(
    pathsOf(sim.fetches).slice(6),
    ['/6'],
    'what is held, forbidden or known is not asked for again',
  );
});

test('what an owner announced waits for no robots.txt and obeys none', async t => {
  const sim = simulate(t, path =>
    path === '/robots.txt' ? { robots: 'User-agent: *\nDisallow: /' } : undefined,
  );
  spidered(sim, 1);
  sim.start();
  await sim.send(1, [url('a'), url('b')]);
  assert.ok(await idle(sim));
  assert.deepEqual(pathsOf(sim.fetches), ['/a', '/b']);
  await sim.send(1, links(2), LINKS);
  await sim.send(1, [url('c')]);
  assert.ok(await idle(sim));
  assert.deepEqual(pathsOf(sim.fetches).slice(2).toSorted(), ['/c', '/robots.txt']);
  // A scan of what its owner announced.
  await sim.send(1, [url('a')], { origin: 'scan' });
  assert.ok(await idle(sim));
  assert.deepEqual(pathsOf(sim.fetches).slice(4), ['/a']);
});

test('addresses that are not permitted are counted by the Queue Manager, of pages and of robots.txt, whichever robot refused them', async t => {
  let isPermitted = false;
  const sim = simulate(t, path => {
    if (path === '/missing') return { code: 404 };
    return isPermitted ? undefined : { code: 610 };
  });
  spidered(sim, 1);
  sim.start();
  const counted = () => [sim.status().unpermitted, sim.status().unpermitted_at_ms];
  await sim.send(1, [url('missing')]);
  assert.ok(await idle(sim));
  assert.deepEqual(counted(), [0, null]);
  await sim.send(1, [url('a'), url('b')]);
  assert.ok(await idle(sim));
  const [count, atMs] = counted();
  assert.ok(count === 2 && typeof atMs === 'number' && atMs <= sim.bench.clock.nowMs());
  await sim.send(1, links(1), LINKS);
  assert.ok(await idle(sim));
  assert.ok(pathsOf(sim.fetches).includes('/robots.txt'));
  assert.ok(sim.status().unpermitted > 2);
  isPermitted = true;
  const before = counted();
  await sim.send(1, [url('a')]);
  assert.ok(await idle(sim));
  assert.deepEqual(counted(), before);
});

test('a flush has robots.txt asked for again, conditionally, and what it forbade may be fetched', async t => {
  let robots = 'User-agent: *\nDisallow: /a';
  const sim = simulate(t, path => (path === '/robots.txt' ? { robots } : undefined));
  spidered(sim, 1);
  spidered(sim, 2);
  sim.start();
  const seed = async () => {
    const before = sim.fetches.length;
    await sim.send(1, [{ ...link('a'), hops: '0' }], LINKS);
    assert.ok(await idle(sim));
    return pathsOf(sim.fetches.slice(before));
  };
  assert.deepEqual(await seed(), ['/robots.txt']);
  robots = '';
  assert.deepEqual(await seed(), []);
  sim.forgetDelays(1);
  assert.deepEqual(await seed(), ['/robots.txt', '/a']);
  assert.equal(sim.status().robots_asked, 2);
});

test('a robots.txt that we are not permitted to fetch counts for a minute, and not after a restart', async t => {
  let isPermitted = false;
  const sim = simulate(t, path => {
    if (!isPermitted) return { code: 610 };
    return path === '/robots.txt' ? { robots: 'User-agent: *\nDisallow: /f' } : undefined;
  });
  spidered(sim, 1);
  sim.start();
  const asked = async (...names: string[]) => {
    const before = sim.fetches.length;
    await sim.send(1, names.map(link), LINKS);
    assert.ok(await idle(sim));
    return pathsOf(sim.fetches.slice(before));
  };
  assert.deepEqual(await asked('f', 'g'), ['/robots.txt', '/f', '/g']);
  await sim.pass(MINUTE);
  assert.deepEqual(await asked('g'), ['/robots.txt', '/g']);
  await sim.stop();
  await sim.pass(5 * SECOND);
  isPermitted = true;
  sim.start();
  assert.deepEqual(await asked('f', 'g'), ['/robots.txt', '/g'], 'its settings may be others now');
});

test('a robots.txt that changes while a thousand urls wait is obeyed within a day', async t => {
  const changedMs = Date.UTC(2026, 5, 1) + 5 * HOUR;
  const sim = simulate(t, (path, _request, atMs) =>
    path !== '/robots.txt' ? undefined : { robots: atMs < changedMs ? '' : 'User-agent: *\nDisallow: /' },
  );
  spidered(sim, 1, 5 * MINUTE);
  sim.start();
  await sim.send(1, links(1000), LINKS);
  await sim.pass(4 * DAY);
  const last = Math.max(
    ...sim.fetches.map(({ atMs, url: asked }) => (asked.endsWith('robots.txt') ? 0 : atMs)),
  );
  assert.ok(last > changedMs && last < changedMs + DAY, new Date(last).toISOString());
  assert.ok(!sim.status().isBusy, 'all of them are known to be forbidden');
});

test('it is kept for a day, and then asked for conditionally', async t => {
  const seen: (string | undefined)[] = [];
  const sim = simulate(t, (path, request) => {
    if (path !== '/robots.txt') return undefined;
    seen.push(request.etag);
    return request.etag === undefined
      ? { robots: 'User-agent: *\nDisallow: /no', etag: '"1"' }
      : { unchanged: true };
  });
  spidered(sim, 1);
  sim.start();
  for (const [hours, path] of [
    [0, 'a'],
    [23, 'b'],
    [2, 'no1'],
    [23, 'c'],
    [23, 'no2'],
  ] as const) {
    await sim.pass(hours * HOUR);
    await sim.send(1, [link(path)], LINKS);
    assert.ok(await idle(sim));
  }
  assert.deepEqual(seen, [undefined, '"1"', '"1"']);
  assert.deepEqual(
    pathsOf(sim.fetches).filter(path => path !== '/robots.txt'),
    ['/a', '/b', '/c'],
  );
});

for (const [what, code, isAllowed] of [
  ['404', 404, true],
  ['401', 401, true],
  ['a chain of redirects', 608, true],
  ['429', 429, false],
  ['503', 503, false],
  ['none at all', 603, false],
] as const)
  // It permits everything; or has the provider wait, and nothing is asked for.
  test(`the answer to a request for robots.txt is ${what}`, async t => {
    let isUp = false;
    const sim = simulate(t, path => (path !== '/robots.txt' ? undefined : isUp ? { robots: '' } : { code }));
    spidered(sim, 1);
    sim.start();
    await sim.send(1, links(2), LINKS);
    await sim.pass(5 * SECOND);
    const pages = () => pathsOf(sim.fetches).filter(path => path !== '/robots.txt');
    assert.deepEqual(pages(), isAllowed ? ['/0', '/1'] : []);
    const asked = () => sim.fetches.length - pages().length;
    assert.equal(asked(), 1);
    const origin = sim.bench.db.prepare('SELECT failures, again > checked AS waits FROM robots').get();
    assert.deepEqual(origin, isAllowed ? { failures: 0, waits: 0 } : { failures: 1, waits: 1 });
    const provider = sim.bench.db.prepare('SELECT backoffs, backoffuntil FROM pidb').get();
    assert.deepEqual(provider, { backoffs: 0, backoffuntil: 0 }, 'its owner waits for nothing');
    isUp = true;
    assert.ok(await idle(sim));
    assert.deepEqual(pages(), ['/0', '/1']);
    assert.equal(asked(), isAllowed ? 1 : 2);
  });

test('a copy that cannot be renewed counts for 30 days; after that its links wait', async t => {
  const robots = 'User-agent: *\nDisallow: /no';
  let isUp = true;
  const sim = simulate(t, path => (path !== '/robots.txt' ? undefined : isUp ? { robots } : { code: 500 }));
  spidered(sim, 1);
  sim.start();
  const days: string[] = [];
  for (let day = 0; day < 34; day++) {
    await sim.send(1, [link(`day${day}`), link(`no${day}`)], LINKS);
    await sim.pass(DAY);
    const pages = pathsOf(sim.fetches).filter(path => path !== '/robots.txt');
    days.push(pages.length > day ? 'fetched' : 'waits');
    isUp = false;
  }
  assert.deepEqual(days, [...Array<string>(30).fill('fetched'), ...Array<string>(4).fill('waits')]);
  assert.ok(pathsOf(sim.fetches).every(path => !path.startsWith('/no')));
});

test('providers of one origin ask for its robots.txt once', async t => {
  const sim = simulate(t, path => (path === '/robots.txt' ? { robots: '' } : undefined));
  for (const pid of [1, 2, 3]) spidered(sim, pid);
  sim.start();
  for (const pid of [1, 2, 3]) await sim.send(pid, links(3, `${pid}-`), LINKS);
  assert.ok(await idle(sim));
  assert.equal(pathsOf(sim.fetches).filter(path => path === '/robots.txt').length, 1);
  assert.equal(sim.fetches.length, 10);
});

for (const [how, end] of [
  ['a crash', (sim: Simulation) => sim.crash()],
  ['a restart', (sim: Simulation) => sim.stop()],
] as const)
  test(`the pause that robots.txt wishes for is kept, up to a minute, also over ${how}`, async t => {
    for (const [delay, pauseMs] of [
      [10, 10 * SECOND],
      [3600, 60 * SECOND],
    ] as const) {
      const sim = simulate(t, path =>
        path === '/robots.txt' ? { robots: `User-agent: *\nCrawl-delay: ${delay}\nAllow: /` } : undefined,
      );
      spidered(sim, 1, null);
      sim.start();
      await sim.send(1, links(6), LINKS);
      await sim.until(() => sim.fetches.length === 4, 10 * MINUTE);
      await sim.pass(pauseMs / 2);
      await end(sim);
      sim.start();
      assert.ok(await idle(sim));
      const pauses = sim.fetches
        .slice(1)
        .map((fetch, i) => fetch.monotonicMs - (sim.fetches[i]?.endMs ?? Infinity));
      assert.deepEqual(pathsOf(sim.fetches), ['/robots.txt', '/0', '/1', '/2', '/3', '/4', '/5']);
      assert.ok(
        pauses.every(ms => ms >= pauseMs),
        pauses.join(' '),
      );
    }
  });

test('what an owner announces waits for no pause of what nobody did, and goes before all of it', async t => {
  const sim = simulate(t, path =>
    path === '/robots.txt' ? { robots: 'User-agent: *\nCrawl-delay: 60\nAllow: /' } : undefined,
  );
  spidered(sim, 1, null);
  sim.start();
  await sim.send(1, links(10_000), LINKS);
  await sim.until(() => sim.fetches.length === 3, 10 * MINUTE);
  await sim.pass(10 * SECOND);
  const sentMs = sim.clock.monotonicMs();
  await sim.send(1, [url('news'), url('more')]);
  assert.ok(await sim.until(() => sim.fetches.length === 5, MINUTE));
  assert.deepEqual(pathsOf(sim.fetches).slice(3), ['/news', '/more']);
  const late = (sim.fetches[4]?.monotonicMs ?? Infinity) - sentMs;
  assert.ok(late < SECOND, `${late} ms`);
  await sim.until(() => sim.fetches.length === 6, 10 * MINUTE);
  const pauseMs = (sim.fetches[5]?.monotonicMs ?? 0) - (sim.fetches[4]?.endMs ?? Infinity);
  assert.ok(pauseMs >= MINUTE, `${pauseMs} ms`);
});

longIt('content that nobody announced goes when robots.txt has forbidden it for 30 days', async t => {
  let robots = '';
  const sim = simulate(t, path => (path === '/robots.txt' ? { robots } : undefined));
  spidered(sim, 1);
  sim.start();
  await sim.send(1, [link('a')], LINKS);
  await sim.send(1, [url('mine')]);
  assert.ok(await idle(sim));
  const held = () => sim.bench.db.prepare('SELECT curl FROM lccurl ORDER BY curl').pluck().all().length;
  assert.equal(held(), 2);
  robots = 'User-agent: *\nDisallow: /';
  const counts: number[] = [];
  for (let day = 1; day <= 33; day++) {
    await sim.pass(DAY);
    await sim.send(1, [url('a', { mimetype: '*/*', hops: '1' })], { origin: 'scan' });
    await sim.send(1, [url('mine')], { origin: 'scan' });
    assert.ok(await idle(sim));
    counts.push(held());
  }
  assert.deepEqual([counts[0], counts[28], counts.at(-1)], [2, 2, 1]);
  assert.equal(sim.bench.db.prepare('SELECT count(*) FROM tombstone').pluck().get(), 1);
});

test('urls that nobody announced wait for a Bot Manager that knows how to ask for them; those of owners do not', async t => {
  const sim = simulate(t, path => (path === '/robots.txt' ? { robots: '' } : undefined));
  spidered(sim, 1);
  sim.takesUnasked = false;
  sim.start();
  await sim.send(1, links(2), LINKS);
  await sim.send(1, [url('a')]);
  await sim.pass(10 * SECOND);
  assert.deepEqual(pathsOf(sim.fetches), ['/a']);
  sim.takesUnasked = true;
  sim.loseWorker();
  assert.ok(await idle(sim));
  assert.deepEqual(pathsOf(sim.fetches), ['/a', '/robots.txt', '/0', '/1']);
});
