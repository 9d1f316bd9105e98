/** Providers that go while a Queue Manager runs. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { Audit } from '../../src/db/audit.js';
import { addProvider, removeProvider } from '../../src/db/pidb.js';
import { Simulation } from './simulation.js';
import { Bench, ok, url } from './support.js';

let sim: Simulation | undefined;
afterEach(() => {
  sim?.close();
  sim = undefined;
});

test('a provider that is removed is forgotten, and an LCC without others is idle', async () => {
  sim = new Simulation({ site: request => ({ result: ok(request.url), tookMs: 10 }) });
  sim.bench.provider(1, { paused: 1 });
  sim.start();
  await sim.send(1, [url('a'), url('b')]);
  await sim.bench.send(1, [], { set: 'full' });
  removeProvider(sim.bench.db, 1);
  sim.reload();
  await sim.pass(1000);
  const { isBusy, sets, providers } = sim.status();
  assert.deepEqual({ isBusy, sets, providers }, { isBusy: false, sets: 0, providers: 0 });
  assert.deepEqual(sim.bench.all('SELECT * FROM qpsdb'), []);
});

test('a provider that is disabled is not fetched from, and goes on when it is enabled again', async () => {
  sim = new Simulation({ site: request => ({ result: ok(request.url), tookMs: 10 }) });
  sim.bench.provider(1, { enabled: 0 });
  sim.start();
  await sim.send(1, [url('a')]);
  await sim.pass(60_000);
  assert.equal(sim.fetches.length, 0);
  sim.bench.db.prepare('UPDATE pidb SET enabled = 1').run();
  sim.reload();
  await sim.pass(60_000);
  assert.equal(sim.fetches.length, 1);
});

test('the rest of a set whose provider was removed meanwhile is refused, not queued for nobody', async () => {
  const bench = new Bench({ sliceUrls: 1 });
  bench.provider(1);
  const head = bench.head(1, 2);
  const cut = await bench.intake.begin('u1', head);
  cut.urls([url('a', { op: 'delete' })]);
  cut.cut();
  removeProvider(bench.db, 1);
  const again = await bench.intake.begin('u1', head);
  again.urls([url('a', { op: 'delete' }), url('b')]);
  const answer = await again.end();
  assert.deepEqual('code' in answer && answer.code, 101);
  assert.equal(bench.value('SELECT count(*) FROM qdb'), 0);
  bench.close();
});

test('a provider that was lost and is added again has what waits and what is held of it', async () => {
  sim = new Simulation({
    site: request => ({ result: ok(request.url, { fileId: request.url }), tookMs: 10 }),
  });
  sim.bench.provider(1);
  sim.start();
  await sim.send(1, [url('a', { len: '3' })]);
  await sim.pass(1000);
  sim.bench.db.prepare('UPDATE pidb SET paused = 1').run();
  sim.reload();
  await sim.send(1, [url('b', { len: '1' }), url('c')]);
  const { db } = sim.bench;
  // As a salvage leaves it when the page of the provider cannot be read.
  db.exec('PRAGMA foreign_keys = OFF; DELETE FROM pidb; DELETE FROM pidbsum; PRAGMA foreign_keys = ON');
  await sim.crash();
  sim.start();
  await sim.pass(1000);
  addProvider(sim.bench.db, 1, 'x', {}, ['http://127.0.0.1/']);
  assert.deepEqual(new Audit(sim.bench.db).wrongCounts(), []);
  assert.equal(sim.bench.value('SELECT filesused FROM pidb'), 1);
  await sim.send(1, [url('d'), url('b', { len: '2' })]);
  sim.reload();
  await sim.pass(1000);
  assert.deepEqual(
    sim.fetches.map(({ url: each }) => each.slice('http://127.0.0.1/'.length)),
    ['a', 'b', 'c', 'd'],
  );
  assert.deepEqual(new Audit(sim.bench.db).wrongCounts(), []);
});
