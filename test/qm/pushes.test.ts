/** Pushes through the real dispatcher: their turn, their pace, and that who invents urls harms nobody but the site's own pushes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { url } from './support.js';
import { DAY, HOUR, idle, links, LINKS, MINUTE, pathsOf, SECOND, simulate } from './unasked-scene.js';
import { amount } from '../support/long.js';

const pushed = (...paths: string[]) => paths.map(path => url(path, { mimetype: '*/*', outofroot: 'drop' }));
const PUSH = { origin: 'push' } as const;

test('pushes go after what the owner announces and before links, ask for no robots.txt, and wait for no pause of a crawl', async t => {
  const sim = simulate(t, path => (path === '/robots.txt' ? { robots: '' } : undefined));
  sim.bench.provider(1);
  sim.bench.db.exec('UPDATE pidb SET spider = 1');
  sim.start();
  await sim.send(1, [url('first')]);
  await sim.send(1, links(3, 'l'), LINKS);
  await sim.send(1, pushed('p1', 'p2', 'p3'), PUSH);
  await sim.send(1, [url('own1'), url('own2')]);
  await idle(sim);
  const paths = pathsOf(sim.fetches);
  assert.deepEqual(paths.filter(path => path !== '/first' && path !== '/robots.txt').slice(0, 5), [
    '/own1',
    '/own2',
    '/p1',
    '/p2',
    '/p3',
  ]);
  assert.ok(paths.indexOf('/robots.txt') > paths.indexOf('/p3'));
  const at = (path: string) => sim.fetches[paths.indexOf(path)]?.atMs ?? 0;
  assert.ok(at('/p3') - at('/p1') < SECOND, 'no pause');
});

test('of a provider whose pushes are seldom true sixty an hour are looked at, after all else, and its owner waits for none', async t => {
  const sim = simulate(t, path => (path.startsWith('/false') ? { code: 404 } : undefined));
  sim.bench.provider(1);
  sim.start();
  await sim.send(1, pushed(...Array.from({ length: 120 }, (_, i) => `false${i}`)), PUSH);
  await idle(sim);
  assert.equal(sim.fetches.length, 120);
  await sim.send(1, pushed(...Array.from({ length: 200 }, (_, i) => `false-again${i}`)), PUSH);
  const before = sim.fetches.length;
  await sim.pass(HOUR);
  const inAnHour = sim.fetches.length - before;
  assert.ok(inAnHour >= 58 && inAnHour <= 61, `${inAnHour}`);
  const beganMs = sim.clock.monotonicMs();
  await sim.send(1, [url('own')]);
  await sim.until(() => pathsOf(sim.fetches).includes('/own'), MINUTE);
  assert.ok(sim.clock.monotonicMs() - beganMs < SECOND, 'the owner is served at once');
  await sim.send(1, [url('scanned')], { origin: 'scan' });
  await idle(sim, 4 * HOUR);
});

test('a stranger with thousands of false urls changes neither score, errors, figures nor the next delivery of the owner', async t => {
  const sim = simulate(t, path => (path.startsWith('/false') ? { code: 404 } : undefined));
  sim.bench.provider(1, { filesmax: 100_000 });
  sim.start();
  await sim.send(1, [url('a', { len: '1' }), url('b', { len: '1' })]);
  await idle(sim);
  const owners = () =>
    sim.bench.all(
      `SELECT nurlerrs, filesused, spaceused, lastset, lastconnseq, fullsetwanted, fullsetsused, backoffs, priority, truthmode,
         (SELECT count(*) FROM pierr) AS errors, (SELECT count(*) FROM known) AS known,
         (SELECT json_group_array(json_array(changed, same, failed, audited, silent)) FROM truth) AS truth FROM pidb`,
    );
  const before = owners();
  for (let i = 0; i < amount(3, 10); i++)
    await sim.send(1, pushed(...Array.from({ length: 1000 }, (_, n) => `false${i}-${n}`)), PUSH);
  await sim.pass(10 * SECOND);
  await sim.send(1, [url('c')]);
  const announcedMs = sim.clock.monotonicMs();
  await sim.until(() => pathsOf(sim.fetches).includes('/c'), MINUTE);
  assert.ok(sim.clock.monotonicMs() - announcedMs < SECOND);
  await sim.pass(HOUR);
  const ignored = { filesused: 0, spaceused: 0, lastset: 0, lastconnseq: 0 };
  assert.deepEqual({ ...owners()[0], ...ignored }, { ...before[0], ...ignored });
  assert.equal(sim.bench.value('SELECT filesused FROM pidb'), 3);
});

test('an origin that does not answer has its pushes wait, and what its owner announces is asked for at once', async t => {
  let isAway = true;
  const sim = simulate(t, () => (isAway ? { code: 603 } : undefined));
  sim.bench.provider(1);
  sim.start();
  await sim.send(1, pushed('p'), PUSH);
  await sim.pass(SECOND);
  const before = sim.fetches.length;
  await sim.send(1, [url('own')]);
  await sim.pass(SECOND);
  assert.ok(pathsOf(sim.fetches.slice(before)).includes('/own'));
  isAway = false;
  await idle(sim, DAY);
  assert.deepEqual(
    sim.bench
      .all<{ curl: string }>('SELECT curl FROM lccurl ORDER BY curl')
      .map(row => new URL(row.curl).pathname),
    ['/own', '/p'],
  );
});
