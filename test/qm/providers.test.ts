/** Providers that go while a Queue Manager runs. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { FsckLook } from '../../src/db/fsck-look.js';
import { addProvider, removeProvider } from '../../src/db/providers/pidb.js';
import type { FetchRequest } from '../../src/wire/fetch.js';
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

test('what waits below a root that was removed is not fetched: its provider is told, what is held stays', async () => {
  sim = new Simulation({ site: request => ({ result: ok(request.url), tookMs: 10 }) });
  sim.bench.provider(1);
  sim.bench.db.prepare('INSERT INTO proots VALUES (1, ?)').run('http://127.0.0.1/docs/');
  sim.start();
  await sim.send(1, [url('held')]);
  await sim.pass(1000);
  assert.equal(sim.fetches.length, 1);
  sim.bench.db.prepare('UPDATE pidb SET paused = 1').run();
  sim.reload();
  await sim.send(1, [url('held'), url('docs/a'), url('new'), url('dropped', { outofroot: 'drop' })]);
  sim.bench.db.prepare("DELETE FROM proots WHERE root = 'http://127.0.0.1/'").run();
  sim.bench.db.prepare('UPDATE pidb SET paused = 0').run();
  sim.reload();
  await sim.pass(1000);
  assert.deepEqual(
    sim.fetches.map(({ url: each }) => each),
    ['http://127.0.0.1/held', 'http://127.0.0.1/docs/a'],
  );
  assert.deepEqual(sim.bench.all('SELECT curl FROM lccurl ORDER BY curl'), [
    { curl: 'http://127.0.0.1/docs/a' },
    { curl: 'http://127.0.0.1/held' },
  ]);
  assert.deepEqual(sim.bench.all('SELECT code, attrs FROM pierr ORDER BY attrs'), [
    { code: 304, attrs: ' curl="http://127.0.0.1/held" mimetype="text/html"' },
    { code: 304, attrs: ' curl="http://127.0.0.1/new" mimetype="text/html"' },
  ]);
  assert.equal(sim.bench.value('SELECT count(*) FROM qdb'), 0);
});

for (const [what, sql, asks] of [
  ['length', 'UPDATE pidb SET maxlen = 1000', { maxBytes: 1000 }],
  ['timeout', 'UPDATE pidb SET fetchtimeout = 500', { timeoutMs: 500 }],
  ['enforcement', 'UPDATE pidb SET enforce = 1', { enforce: true }],
  ['name of the robot', "UPDATE pidb SET useragent = 'x'", { userAgent: 'x' }],
  ['login', "INSERT INTO sitelogin VALUES (1, 'u:p')", { login: 'u:p' }],
  [
    'list of roots',
    "INSERT INTO proots VALUES (1, 'http://b.test/')",
    { roots: ['http://127.0.0.1/', 'http://b.test/'] },
  ],
] as const)
  test(`another ${what} holds for what was sent ahead already, too`, async () => {
    const requests: FetchRequest[] = [];
    sim = new Simulation({
      site(request) {
        requests.push(request);
        return { result: ok(request.url, { fileId: request.url }), tookMs: 100 };
      },
      window: 64,
    });
    sim.bench.provider(1);
    sim.bench.provider(2);
    sim.start();
    for (const pid of [1, 2])
      await sim.send(
        pid,
        Array.from({ length: 100 }, (_, i) => url(`${pid}/${i}`)),
      );
    await sim.pass(1000);
    assert.ok(sim.waiting > 60);
    sim.bench.db.exec('UPDATE pidb SET filesmax = filesmax + 1');
    sim.reload();
    await sim.pass(100);
    assert.equal(sim.recalls, 0, 'nothing that its site is asked with');
    sim.bench.db.exec(`${sql}${sql.startsWith('UPDATE') ? ' WHERE pid = 1' : ''}`);
    sim.reload();
    await sim.pass(200);
    assert.equal(sim.recalls, 1);
    requests.length = 0;
    await sim.pass(20_000);
    assert.equal(sim.bench.value('SELECT count(*) FROM lccurl'), 200);
    const [first, ...others] = Object.entries(asks);
    assert.deepEqual(others, []);
    const key = first?.[0] as keyof FetchRequest;
    for (const request of requests) {
      const isHers = request.lane === '1';
      assert.equal(isHers, JSON.stringify(request[key]) === JSON.stringify(first?.[1]), request.url);
    }
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
  db.exec('PRAGMA foreign_keys = OFF; DELETE FROM pidb; PRAGMA foreign_keys = ON');
  await sim.crash();
  sim.start();
  await sim.pass(1000);
  addProvider(sim.bench.db, 1, 'x', {}, ['http://127.0.0.1/']);
  assert.deepEqual(new FsckLook(sim.bench.db).wrongCounts(), []);
  assert.equal(sim.bench.value('SELECT filesused FROM pidb'), 1);
  await sim.send(1, [url('d'), url('b', { len: '2' })]);
  sim.reload();
  await sim.pass(1000);
  assert.deepEqual(
    sim.fetches.map(({ url: each }) => each.slice('http://127.0.0.1/'.length)),
    ['a', 'b', 'c', 'd'],
  );
  assert.deepEqual(new FsckLook(sim.bench.db).wrongCounts(), []);
});
