/** Sites that do not answer what nobody announced, through the real dispatcher: what their owners announce is asked all the same. */
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
  links,
  pathsOf,
  simulate,
  spidered,
} from './unasked-scene.js';

const ROBOTS = '/robots.txt';
const asked = (sim: Simulation, path: string) => pathsOf(sim.fetches).filter(one => one === path).length;
const provider = (sim: Simulation) =>
  sim.bench.db.prepare('SELECT backoffs, backoffuntil FROM pidb WHERE pid = 1').get();
const NO_BACKOFF = { backoffs: 0, backoffuntil: 0 };

/** Whether it is asked for at once. */
async function isAskedAtOnce(sim: Simulation, path: string): Promise<boolean> {
  await sim.send(1, [url(path.slice(1))]);
  const isAsked = await sim.until(() => asked(sim, path) > 0, SECOND);
  // What came of it is written.
  await sim.pass(SECOND);
  return isAsked;
}

for (const [what, code] of [
  ['503', 503],
  ['429', 429],
  ['none', 603],
] as const)
  test(`the answer to a request for robots.txt is ${what} for days: an owner's url goes at once, also after a crash`, async t => {
    let isUp = false;
    const sim = simulate(t, path => (path === ROBOTS ? (isUp ? { robots: '' } : { code }) : undefined));
    spidered(sim, 1);
    sim.start();
    await sim.send(1, links(3), LINKS);
    await sim.pass(3 * DAY);
    const before = sim.fetches.length;
    assert.ok(before > 10 && before < 30, `asked for ${before} times, less and less often`);
    assert.deepEqual(provider(sim), NO_BACKOFF);
    assert.ok(await isAskedAtOnce(sim, '/first'));
    await sim.crash();
    sim.start();
    assert.ok(await isAskedAtOnce(sim, '/second'));
    await sim.pass(HOUR);
    assert.deepEqual(pathsOf(sim.fetches.slice(before)), ['/first', '/second'], 'a crash forgets no wait');
    isUp = true;
    assert.ok(await idle(sim, 2 * DAY));
    assert.deepEqual(pathsOf(sim.fetches.slice(before + 2)), [ROBOTS, '/0', '/1', '/2']);
  });

test('a page that nobody announced does not answer for days: what its owner announces goes at once, also after a crash', async t => {
  let isUp = false;
  const sim = simulate(t, path =>
    path === ROBOTS ? { robots: '' } : isUp || !/^\/\d/.test(path) ? undefined : { code: 603 },
  );
  spidered(sim, 1);
  sim.start();
  await sim.send(1, links(3), LINKS);
  // A robots.txt of each day that comes is an answer.
  await sim.pass(2 * DAY + 12 * HOUR);
  const before = sim.fetches.length;
  assert.ok(before > 20 && before < 100, `${before} requests, less and less often`);
  assert.deepEqual(provider(sim), NO_BACKOFF);
  assert.ok(await isAskedAtOnce(sim, '/first'));
  await sim.crash();
  sim.start();
  assert.ok(await isAskedAtOnce(sim, '/second'));
  isUp = true;
  await sim.pass(HOUR);
  assert.deepEqual(pathsOf(sim.fetches.slice(before)), ['/first', '/second']);
  assert.ok(await idle(sim, 2 * DAY));
  assert.equal(sim.bench.value('SELECT count(*) FROM lccurl'), 5);
});

test('what was sent ahead of what nobody announced is called back where its origin does not answer', async t => {
  const sim = simulate(t, path => (path === ROBOTS ? { robots: '' } : { code: 603 }));
  spidered(sim, 1);
  sim.start();
  await sim.send(1, links(6), LINKS);
  await sim.pass(SECOND);
  // One more may have begun when the first is answered.
  assert.ok(sim.fetches.length <= 3, pathsOf(sim.fetches).join(' '));
  assert.equal(sim.fetches[1]?.url, 'http://127.0.0.1/0');
});

test('an owner whose url gets no answer waits as ever, and its links with it', async t => {
  let isUp = true;
  const sim = simulate(t, path => (isUp ? (path === ROBOTS ? { robots: '' } : undefined) : { code: 603 }));
  spidered(sim, 1);
  sim.start();
  await sim.send(1, links(1), LINKS);
  assert.ok(await idle(sim));
  isUp = false;
  await sim.send(1, [url('mine')]);
  await sim.pass(SECOND);
  const [{ backoffs }] = sim.bench.all<{ backoffs: number }>('SELECT backoffs FROM pidb') as [
    { backoffs: number },
  ];
  assert.equal(backoffs, 1);
  await sim.send(1, links(3), LINKS);
  await sim.pass(SECOND);
  assert.equal(asked(sim, '/2'), 0);
  isUp = true;
  assert.ok(await idle(sim));
  assert.deepEqual(provider(sim), NO_BACKOFF);
});

for (const path of ['/0', ROBOTS])
  test(`${path === ROBOTS ? 'a robots.txt' : 'a page that nobody announced'} that asks for patience gets it, over a crash, and an owner's url goes beside it`, async t => {
    let isBusy = true;
    const sim = simulate(t, (one, _request, atMs) => {
      if (one === path && isBusy) return { code: 503, retryAfterMs: Math.max(1, startMs + 5 * HOUR - atMs) };
      return one === ROBOTS ? { robots: '' } : undefined;
    });
    const startMs = sim.clock.nowMs();
    spidered(sim, 1);
    sim.start();
    await sim.send(1, links(3), LINKS);
    await sim.until(() => asked(sim, path) > 0, MINUTE);
    await sim.pass(MINUTE);
    const before = sim.fetches.length;
    assert.ok(await isAskedAtOnce(sim, '/first'));
    await sim.crash();
    sim.start();
    assert.ok(await isAskedAtOnce(sim, '/second'));
    isBusy = false;
    await sim.pass(4 * HOUR);
    assert.deepEqual(pathsOf(sim.fetches.slice(before)), ['/first', '/second']);
    assert.ok(await idle(sim, 2 * HOUR));
    assert.equal(sim.bench.value('SELECT count(*) FROM lccurl'), 5);
  });

test('a failed url of an owner is tried again when it is due, whatever its links wait for', async t => {
  let isBroken = true;
  const sim = simulate(t, path =>
    path === ROBOTS ? { code: 503 } : path === '/mine' && isBroken ? { code: 500 } : undefined,
  );
  spidered(sim, 1);
  sim.start();
  await sim.send(1, links(3), LINKS);
  await sim.pass(2 * DAY);
  assert.ok(await isAskedAtOnce(sim, '/mine'));
  isBroken = false;
  assert.ok(await sim.until(() => asked(sim, '/mine') === 2, MINUTE));
});

test('one origin of a provider that is left alone does not hold up the links of another', async t => {
  let isUp = false;
  const sim = simulate(t, (path, request) => {
    if (path !== ROBOTS) return undefined;
    return new URL(request.url).hostname === '127.0.0.1' && !isUp ? { code: 503 } : { robots: '' };
  });
  spidered(sim, 1);
  sim.bench.db.prepare('INSERT INTO proots VALUES (1, ?)').run('http://127.0.0.2/');
  sim.start();
  const other = (path: string) => ({ ...links(1)[0], curl: `http://127.0.0.2/${path}` });
  await sim.send(1, [...links(40), other('a'), other('b')] as ReturnType<typeof links>, LINKS);
  await sim.pass(HOUR);
  const pages = () => pathsOf(sim.fetches).filter(path => path !== ROBOTS);
  assert.deepEqual(pages(), ['/a', '/b']);
  await sim.send(1, [other('c')] as ReturnType<typeof links>, LINKS);
  assert.ok(await sim.until(() => pages().length === 3, MINUTE), 'also what comes later');
  assert.ok(await isAskedAtOnce(sim, '/mine'), 'nor its owner');
  isUp = true;
  assert.ok(await idle(sim, 2 * DAY));
  assert.equal(pages().length, 44);
});

test('a flush ends the wait of what nobody announced', async t => {
  let isUp = false;
  const sim = simulate(t, path => (path === ROBOTS ? (isUp ? { robots: '' } : { code: 503 }) : undefined));
  spidered(sim, 1);
  sim.start();
  await sim.send(1, links(3), LINKS);
  await sim.pass(2 * DAY);
  const [waits] = sim.waitingFor();
  assert.deepEqual(waits?.slice(0, 2), [1, 'unasked']);
  assert.ok((waits?.[2] ?? 0) > sim.clock.nowMs());
  isUp = true;
  sim.forgetDelays(1);
  assert.ok(await idle(sim, MINUTE));
  assert.deepEqual(sim.waitingFor(), []);
});
