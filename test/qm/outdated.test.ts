/** What changes while it is on its way, sent ahead of its turn. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { Simulation } from './simulation.js';
import { ok, url } from './support.js';

let sim: Simulation | undefined;
afterEach(() => {
  sim?.close();
  sim = undefined;
});

const NAMES = Array.from({ length: 60 }, (_, i) => `p${String(i).padStart(2, '0')}`);

/** A provider with all urls sent ahead, and the tenth is being fetched. */
async function tenFetched(): Promise<Simulation> {
  sim = new Simulation({ site: request => ({ result: ok(request.url), tookMs: 50 }), window: 100 });
  sim.bench.provider(1);
  sim.start();
  await sim.send(
    1,
    NAMES.map(name => url(name)),
  );
  const { fetches } = sim;
  await sim.until(() => fetches.length === 10, 10_000);
  return sim;
}

const timesFetched = ({ fetches }: Simulation, name: string) =>
  fetches.filter(fetch => fetch.url.endsWith(`/${name}`)).length;

test('what is announced again after it was sent ahead, and before it was begun, is fetched once', async () => {
  const running = await tenFetched();
  const { bench } = running;
  await running.send(
    1,
    NAMES.slice(5).map(name => url(name, { len: '9' })),
  );
  assert.ok(await running.until(() => bench.value('SELECT count(*) FROM qdb') === 0, 60_000));
  const counts = NAMES.map(name => timesFetched(running, name));
  assert.deepEqual(counts.slice(0, 5), [1, 1, 1, 1, 1]);
  // Those that were fetched, or being fetched, when it came; a recall takes a moment.
  assert.deepEqual(counts.slice(5, 10), [2, 2, 2, 2, 2]);
  assert.deepEqual(counts.slice(12), Array<number>(48).fill(1));
});

test('what is deleted after it was sent ahead, and before it was begun, is not fetched', async () => {
  const running = await tenFetched();
  const { bench } = running;
  await running.send(
    1,
    NAMES.slice(30).map(name => url(name, { op: 'delete' })),
  );
  assert.ok(await running.until(() => bench.value('SELECT count(*) FROM qdb') === 0, 60_000));
  assert.equal(running.fetches.length, 30);
});

test('a set that changes nothing on its way calls nothing back', async () => {
  const running = await tenFetched();
  await running.send(1, [url('other')]);
  await running.send(1, [url('other', { len: '2' }), url('unknown', { op: 'delete' })]);
  await running.pass(60_000);
  assert.equal(running.recalls, 0);
  assert.equal(running.fetches.length, 61);
});
