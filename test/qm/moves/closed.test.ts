/** A provider that moves: nothing of it is fetched, taken or changed. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { OPEN_GATE } from '../../../src/daemon/kept.js';
import { controlsOf } from '../../../src/qm/controls.js';
import { silentLog } from '../../../src/lib/log.js';
import { Simulation } from '../simulation.js';
import { Bench, ok, url } from '../support.js';

let sim: Simulation | undefined;
afterEach(() => {
  sim?.close();
  sim = undefined;
});

const names = (count: number) => Array.from({ length: count }, (_, n) => url(`p${n}`));

it('nothing is begun of a provider that moves, also after a restart, and all of the rest once when it is over', async () => {
  sim = new Simulation({ site: request => ({ result: ok(request.url), tookMs: 100 }) });
  sim.bench.provider(1);
  sim.bench.provider(2);
  sim.start();
  await sim.send(1, names(20));
  await sim.send(2, names(3));
  await sim.until(() => (sim?.fetches.length ?? 0) >= 3, 10_000);
  const { store } = sim.bench;
  store.transaction(() => store.moving.leave(1));
  sim.reload();
  const begun = sim.fetches.filter(({ pid }) => pid === 1).length;
  await sim.pass(60_000);
  assert.equal(sim.fetches.filter(({ pid }) => pid === 1).length, begun, 'what has begun ends');
  assert.equal(sim.fetches.filter(({ pid }) => pid === 2).length, 3, 'others notice nothing');
  assert.equal(sim.bench.value('SELECT count(*) FROM lccurl WHERE pid = 1'), begun, 'its results are in');

  await sim.crash();
  sim.start();
  await sim.pass(60_000);
  assert.equal(sim.fetches.filter(({ pid }) => pid === 1).length, begun);

  sim.bench.store.transaction(() => sim?.bench.store.moving.settle(1));
  sim.reload();
  await sim.pass(60_000);
  const urls = sim.fetches.filter(({ pid }) => pid === 1).map(each => each.url);
  assert.equal(urls.length, 20);
  assert.deepEqual(new Set(urls).size, 20);
});

describe('sets of a provider that moves', () => {
  let bench: Bench;
  beforeEach(() => {
    bench = new Bench({ sliceUrls: 2 });
    bench.provider(1);
  });
  afterEach(() => bench.close());

  const leave = () => bench.store.transaction(() => bench.store.moving.leave(1));

  it('are refused as too busy, and one that is being taken is taken whole', async () => {
    const taking = await bench.intake.begin('u1', bench.head(1, 4));
    taking.urls(names(2));
    leave();
    const ended = bench.intake.end(1);
    taking.urls(names(4).slice(2));
    const answer = await taking.end();
    assert.ok('queued' in answer && answer.queued === 4);
    await ended;
    const refused = await bench.send(1, names(1));
    assert.ok('code' in refused && refused.code === 102);
    assert.equal(bench.value('SELECT count(*) FROM qdb'), 4);
  });

  it('keep what was taken of one that was cut off; it is refused when it comes again', async () => {
    const head = bench.head(1, 4);
    const cut = await bench.intake.begin('u1', head);
    cut.urls(names(3));
    cut.cut();
    leave();
    await bench.intake.end(1);
    assert.equal(bench.value('SELECT count(*) FROM absorbed WHERE complete = 0'), 0);
    assert.equal(bench.value('SELECT count(*) FROM qpsdb'), 1, 'its urls are fetched');
    const again = await bench.intake.begin('u1', bench.head(1, 4));
    again.urls(names(4));
    const answer = await again.end();
    assert.ok('code' in answer && answer.code === 102);
  });

  it('an absorbed one that is sent again has the answer it had', async () => {
    const head = bench.head(1, 2);
    const first = await bench.intake.begin('u1', head);
    first.urls(names(2));
    const answer = await first.end();
    leave();
    const again = await bench.intake.begin('u1', head);
    again.urls(names(2));
    assert.deepEqual(await again.end(), answer);
  });
});

describe('of a provider that moves', () => {
  let bench: Bench;
  beforeEach(() => {
    bench = new Bench({ fuse: { percent: 10, urls: 1 } });
    bench.provider(1, { leaveat: 5, enabled: 0 });
  });
  afterEach(() => bench.close());

  it('nothing is removed, whatever has been decided before', async () => {
    const { store } = bench;
    await bench.send(1, names(9));
    for (const { curl } of names(9)) assert.equal(bench.fetch(1, curl), 'done');
    await bench.send(
      1,
      names(9).map(each => ({ ...each, op: 'delete' as const })),
    );
    store.transaction(() => store.held.release(1));
    assert.ok(store.departures.next(10) !== undefined && store.held.decided() !== undefined);
    const cut = { psetid: Number.MAX_SAFE_INTEGER, fetchedS: 2 ** 40 };
    assert.equal(store.age.old(0, 2 ** 40, cut, 100).length, 9);
    store.transaction(() => store.moving.come(1));
    assert.equal(store.departures.next(10), undefined);
    assert.equal(store.held.decided(), undefined);
    assert.deepEqual(store.age.old(0, 2 ** 40, cut, 100), []);
  });

  it('nothing is done by an operator, who is told why', () => {
    bench.store.transaction(() => bench.store.moving.leave(1));
    const dispatcher = { reload() {} } as unknown as Parameters<typeof controlsOf>[1];
    const { pause } = controlsOf(bench.store, dispatcher, silentLog, bench.clock, OPEN_GATE);
    assert.throws(() => pause?.(['1']), /provider 1 moves to another home/);
    assert.equal(bench.value('SELECT paused FROM pidb'), 0);
  });
});
