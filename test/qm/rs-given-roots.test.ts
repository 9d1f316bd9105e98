/** Roots that a reset of the password has given up: what is held of them stays for a while. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, test } from 'node:test';
import { silentLog } from '../../src/lib/log.js';
import { hashPassword } from '../../src/lib/password.js';
import type { Chore } from '../../src/qm/housekeeping.js';
import { departures } from '../../src/qm/housekeeping/departures.js';
import type { RsOperations } from '../../src/qm/rs-operations.js';
import type { RsAnswer, RsChange } from '../../src/wire/qm-rs.js';
import { rsOperationsOf } from './rs-bench.js';
import { Bench, url } from './support.js';

const PID = 100_000;
const ROOT = 'http://127.0.0.1/';
const [DOCS, NEWS] = [`${ROOT}docs/`, `${ROOT}news/`];
const DAY_MS = 86_400_000;
const SLICE = 3;
let bench: Bench;
let operations: RsOperations;
let chore: Chore;

function begin(): void {
  const { store, clock } = bench;
  operations = rsOperationsOf(bench);
  const nothing = () => undefined;
  chore = departures({
    store,
    clock,
    log: silentLog,
    sliceUrls: SLICE,
    onCommit: nothing,
    changed: nothing,
  });
}

beforeEach(() => {
  bench = new Bench({ sliceUrls: SLICE });
  bench.db.pragma('synchronous = OFF');
  bench.clock.advance(1000 * DAY_MS);
  begin();
});
afterEach(() => bench.close());

const ask = (change: RsChange): RsAnswer => operations.answer({ id: randomUUID(), change });
const nowS = () => Math.floor(bench.clock.nowMs() / 1000);
const held = () =>
  bench
    .all<{ curl: string }>(`SELECT curl FROM lccurl WHERE pid = ${PID} ORDER BY curl`)
    .map(row => row.curl);
const waiting = () => bench.value(`SELECT count(*) FROM qdb WHERE pid = ${PID}`);
const column = (name: string) => bench.value(`SELECT ${name} FROM pidb WHERE pid = ${PID}`);

/** Stores pages of a provider. */
async function store(pid: number, curls: readonly string[]): Promise<void> {
  await bench.send(
    pid,
    curls.map(curl => url(curl)),
  );
  for (const curl of curls) assert.equal(bench.fetch(pid, curl), 'done');
}

/** Lets the chore do all that is due. @returns in how many steps */
function carryOut(): number {
  let steps = 0;
  while (bench.store.departures.next(nowS()) !== undefined) {
    chore.run();
    assert.ok(++steps < 1000, 'it comes to an end');
  }
  return steps;
}

/** A reset keeps DOCS and gives NEWS up, of each of which five pages are held and one waits. */
async function givesUp(): Promise<{ docs: string[]; news: string[] }> {
  const first = hashPassword('first');
  assert.ok('ok' in ask({ op: 'register', pid: PID, password: first, roots: [DOCS, NEWS] }));
  const [docs, news] = [DOCS, NEWS].map(root => Array.from({ length: 5 }, (_, i) => `${root}p${i}`)) as [
    string[],
    string[],
  ];
  await store(PID, [...docs, ...news]);
  await bench.send(PID, [url(`${NEWS}waits`), url(`${DOCS}waits`)]);
  const password = hashPassword('second');
  assert.ok('ok' in ask({ op: 'password', pid: PID, password, generation: 1, roots: [DOCS] }));
  return { docs, news };
}
const given = () => {
  const answer = operations.answer({ id: undefined, question: { op: 'show', pid: PID } });
  assert.ok('ok' in answer);
  return (answer.ok['provider'] as { givenroots: unknown }).givenroots;
};
const gone = () => bench.value('SELECT count(*) FROM tombstone');

test('what is held of a root that a reset has given up goes when its time is over, what waits goes at once', async () => {
  const { docs, news } = await givesUp();
  const at = nowS() + 7 * 86_400;
  assert.deepEqual(given(), [{ root: NEWS, at }]);
  carryOut();
  assert.deepEqual([held(), waiting()], [[...docs, ...news], 1]);
  await bench.send(PID, [url(`${NEWS}p0`, { md5: 'f'.repeat(32) })]);
  assert.equal(waiting(), 1, 'nothing is announced there any more');
  assert.equal(bench.value(`SELECT code FROM pierr WHERE pid = ${PID}`), 304);
  bench.clock.advance(6.9 * DAY_MS);
  assert.equal(carryOut(), 0);
  // Another root is taken off meanwhile: what was given up is none of its business.
  ask({ op: 'root-add', pid: PID, roots: [`${ROOT}old/`] });
  await store(PID, [`${ROOT}old/p`]);
  ask({ op: 'root-rm', pid: PID, roots: [`${ROOT}old/`] });
  carryOut();
  assert.deepEqual([held(), gone()], [[...docs, ...news], 1]);
  bench.clock.advance(0.2 * DAY_MS);
  assert.ok(carryOut() > news.length / SLICE, 'a slice at a time');
  assert.deepEqual([held(), gone(), given()], [docs, 6, []]);
  assert.equal(carryOut(), 0);
});

for (const [what, full, left] of [
  ['names nothing there', [`${DOCS}p0`], [`${DOCS}p0`]],
  ['names nothing at all', [], []],
] as const)
  test(`a full set that ${what} removes nothing of a root that was given up, nor does the fuse count it`, async () => {
    const { news } = await givesUp();
    carryOut();
    bench.db.exec(`UPDATE pidb SET fusepercent = 0, fuseurls = 5 WHERE pid = ${PID}`);
    await bench.send(
      PID,
      full.map(curl => url(curl)),
      { set: 'full' },
    );
    assert.equal(bench.value('SELECT count(*) FROM held'), 0);
    assert.deepEqual(held(), [...left, ...news]);
    bench.clock.advance(7 * DAY_MS);
    carryOut();
    assert.deepEqual(held(), left);
  });

test('a root that was given up comes back with what is held of it, and a full set is wanted for what was not', async () => {
  const { docs, news } = await givesUp();
  carryOut();
  assert.equal(column('fullsetwanted'), null);
  bench.clock.advance(6 * DAY_MS);
  assert.ok('ok' in ask({ op: 'root-add', pid: PID, roots: [NEWS] }));
  assert.deepEqual([given(), column('fullsetwanted')], [[], 'root proven again']);
  bench.clock.advance(9 * DAY_MS);
  carryOut();
  assert.deepEqual([held(), gone()], [[...docs, ...news], 0]);
  await bench.send(PID, [url(`${DOCS}p0`)], { set: 'full' });
  assert.deepEqual(held(), [`${DOCS}p0`], 'a full set counts there again');
});

test('a directory that comes back around or below one that was given up keeps its own', async () => {
  const { docs, news } = await givesUp();
  ask({ op: 'root-add', pid: PID, roots: [`${NEWS}p1/`] });
  await store(PID, [`${NEWS}p1/a`]);
  await bench.send(PID, [], { set: 'full' });
  assert.deepEqual(held(), news, 'of what it has again the full set decides');
  bench.clock.advance(8 * DAY_MS);
  await store(PID, [`${NEWS}p1/b`]);
  carryOut();
  assert.deepEqual(held(), [`${NEWS}p1/b`]);
  assert.notDeepEqual(docs, []);
});

test('one that leaves with a root given up, and stays, has it as long as it had; one that has left has none', async () => {
  const { docs, news } = await givesUp();
  ask({ op: 'leave', pid: PID });
  bench.clock.advance(6 * DAY_MS);
  ask({ op: 'stay', pid: PID });
  carryOut();
  assert.deepEqual(held(), [...docs, ...news]);
  bench.clock.advance(DAY_MS);
  carryOut();
  assert.deepEqual(held(), docs);
  ask({ op: 'password', pid: PID, password: hashPassword('third'), generation: 2 });
  ask({ op: 'root-add', pid: PID, roots: [NEWS] });
  ask({ op: 'password', pid: PID, password: hashPassword('fourth'), generation: 3, roots: [NEWS] });
  assert.deepEqual(given(), [{ root: DOCS, at: nowS() + 7 * 86_400 }]);
  ask({ op: 'leave', pid: PID });
  bench.clock.advance(7 * DAY_MS);
  carryOut();
  assert.deepEqual([held(), bench.value('SELECT count(*) FROM givenroot')], [[], 0]);
});

test('a removal of what was given up goes on wherever it is cut off, and ends when the root comes back', async () => {
  const { docs, news } = await givesUp();
  bench.clock.advance(8 * DAY_MS);
  for (let cut = 0; held().length > docs.length + 2; cut++) {
    assert.ok(cut < 100);
    for (const _ of [1, 2, 3]) chore.run();
    bench.reopen();
    begin();
  }
  const rest = held();
  ask({ op: 'root-add', pid: PID, roots: [NEWS] });
  carryOut();
  assert.deepEqual([held(), gone()], [rest, docs.length + news.length - rest.length]);
});
