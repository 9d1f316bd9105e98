/** What nobody announced, through the real dispatcher: after everything that was, of its own provider and of others. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { Untouched } from '../../src/qm/schedule/untouched.js';
import { rankOf, type SetClass, type SetOrigin } from '../../src/wire/origin.js';
import { Simulation } from './simulation.js';
import { ok, url } from './support.js';

const SECOND = 1000;
const AGEING = 60 * SECOND;

let sim: Simulation;
afterEach(() => sim.close());

/** One slot, and a second for each url. @param priorities of the providers 1, 2, … */
function begin(...priorities: number[]): void {
  sim = new Simulation({
    workerSlots: 1,
    lanes: { ageingMs: AGEING },
    site: request => ({
      result: ok(request.url, { fileId: request.url, mimetype: 'text/html' }),
      tookMs: SECOND,
    }),
  });
  priorities.forEach((priority, index) => sim.bench.provider(index + 1, { priority, spider: 1, pacems: 0 }));
  // The site has no robots.txt, as was seen a moment ago.
  const nowS = Math.floor(sim.clock.nowMs() / 1000);
  sim.bench.db.exec(`INSERT INTO robots(origin, http, checked) VALUES ('http://127.0.0.1', 404, ${nowS})`);
  sim.start();
}

const pages = (name: string, count: number) => Array.from({ length: count }, (_, i) => url(`${name}${i}`));
const found = (name: string, count: number) =>
  pages(name, count).map(one => ({ ...one, mimetype: '*/*', ifabsent: 'yes', hops: '1' }));
const unasked = (pid: number, origin: SetOrigin, name: string, count: number) =>
  sim.send(pid, found(name, count), { origin });
const fetched = () => sim.fetches.map(fetch => fetch.url.slice('http://127.0.0.1/'.length));

test('a url that is announced goes before 10 000 links that wait, and between two urls', async () => {
  begin(1);
  await unasked(1, 'links', 'l', 10_000);
  await sim.pass(2500);
  const lanes = () => [sim.status().lanes_by_priority, sim.status().lanes_unasked];
  assert.deepEqual(lanes(), [[0, 0, 0], 1]);
  await sim.send(1, pages('a', 2));
  await sim.pass(4 * SECOND);
  assert.deepEqual(fetched().slice(0, 7), ['l0', 'l1', 'l2', 'a0', 'a1', 'l3', 'l4']);
  await sim.send(1, pages('b', 40));
  await sim.pass(4 * SECOND);
  assert.deepEqual(lanes(), [[0, 1, 0], 0]);
});

test('within a provider links go before a scan, and a scan before an audit, whichever came first; also after a restart', async () => {
  begin(1);
  for (const origin of ['audit', 'scan', 'links'] as const) await unasked(1, origin, origin, 4);
  await sim.send(1, pages('own', 2));
  await sim.pass(3500);
  await sim.crash();
  sim.start();
  await sim.pass(60 * SECOND);
  // The first url was on its way before the others came.
  const order = [
    ...new Set(
      fetched()
        .slice(1)
        .map(name => name.replace(/\d+$/, '')),
    ),
  ];
  assert.deepEqual(order, ['own', 'links', 'scan', 'audit']);
  assert.equal(new Set(fetched()).size, 14);
});

test('beside other providers links wait for all that was announced, and for ever: their age lifts them above scans at most', async () => {
  begin(2, 0, 1);
  await unasked(1, 'links', 'l', 3);
  await sim.send(2, pages('b', 200));
  await unasked(3, 'scan', 's', 3);
  await sim.pass(4 * AGEING);
  const names = fetched();
  const last = names.lastIndexOf('b199');
  assert.equal(names.length, 206);
  // One was on its way before the others came.
  assert.ok(
    names.filter((name, index) => /^[ls]/.test(name) && index < last).length <= 1,
    names.slice(0, 9).join(' '),
  );
  assert.equal(sim.status().lanes, 0);
});

test('links yield between two urls to another provider’s announcement, however low', async () => {
  begin(2, 0);
  await unasked(1, 'links', 'l', 20);
  await sim.pass(2500);
  await sim.send(2, pages('b', 2));
  await sim.pass(4 * SECOND);
  assert.deepEqual(fetched().slice(0, 6), ['l0', 'l1', 'l2', 'b0', 'b1', 'l3']);
});

test('a url that waits as a link and is announced is fetched once, at the place of the announcement', async () => {
  begin(1);
  await unasked(1, 'links', 'l', 20);
  await sim.pass(1500);
  await sim.send(1, [...pages('a', 1), ...found('l', 18).slice(17)]);
  await sim.pass(60 * SECOND);
  const names = fetched();
  assert.deepEqual(names.slice(0, 5), ['l0', 'l1', 'a0', 'l17', 'l2']);
  assert.equal(names.filter(name => name === 'l17').length, 1);
  assert.equal(names.length, 21);
});

test('failed links are tried again after what was announced meanwhile', async () => {
  begin(1);
  let isDown = true;
  sim.site = (request, ...rest) => usual(request, ...rest);
  const usual: Simulation['site'] = request => ({
    result:
      isDown && request.url.endsWith('l0')
        ? { id: 0, status: 'error', code: 503, message: '', reach: 'url', wireBytes: 0, elapsedMs: 0 }
        : ok(request.url, { fileId: request.url, mimetype: 'text/html' }),
    tookMs: SECOND,
  });
  await unasked(1, 'links', 'l', 1);
  await sim.pass(5 * SECOND);
  isDown = false;
  await sim.send(1, pages('a', 30));
  await sim.pass(120 * SECOND);
  const names = fetched();
  assert.equal(names[0], 'l0');
  assert.deepEqual(
    names.slice(1, 31),
    pages('a', 30).map(({ curl }) => curl),
  );
  assert.deepEqual(names.slice(31), ['l0']);
});

test('sets that their owner sends without end while links wait are not all kept in memory, and none is forgotten', () => {
  begin(1);
  const setAt = (psetid: number, setClass: SetClass) => ({ psetid, class: setClass });
  const stored = [setAt(1, 1), ...Array.from({ length: 100 }, (_, i) => setAt(i + 2, 0))];
  const here: ReturnType<typeof setAt>[] = [];
  const after = (rank: number) =>
    here.filter(set => rankOf(set) > rank).toSorted((a, b) => rankOf(a) - rankOf(b));
  const untouched = new Untouched(
    {
      sets: (_pid, rank, limit) => after(rank).slice(0, limit),
      countSets: (_pid, rank, most) => Math.min(after(rank).length, most),
    },
    { pid: 1, most: 4, areStored: false, isBegun: () => false },
  );
  for (const set of stored) {
    here.push(set);
    untouched.add(set);
    assert.ok(untouched.size <= 8);
  }
  const taken: number[] = [];
  for (let set = untouched.first(); set !== undefined; set = untouched.first()) {
    taken.push(set.psetid);
    untouched.begin(set);
    here.splice(here.indexOf(set), 1);
  }
  assert.deepEqual(taken, [...Array.from({ length: 100 }, (_, i) => i + 2), 1]);
});

test('a link is looked at again when its turn comes: what is held in any type by then, or known not to be had, is not fetched', async () => {
  begin(1);
  await sim.send(1, [url('x')]);
  await unasked(1, 'links', 'a', 3);
  await unasked(1, 'links', 'k', 2);
  await sim.send(1, pages('a', 3));
  await sim.pass(500);
  const nowS = Math.floor(sim.clock.nowMs() / 1000);
  sim.bench.db
    .prepare("INSERT INTO known(pid, curl, code, asked, until) VALUES (1, 'http://127.0.0.1/k0', 404, ?, ?)")
    .run(nowS, nowS + 3600);
  await sim.pass(60 * SECOND);
  assert.deepEqual(fetched(), ['x', 'a0', 'a1', 'a2', 'k1']);
  assert.equal(sim.bench.value('SELECT count(*) FROM qdb'), 0);
});
