import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { silentLog } from '../../src/lib/log.js';
import { ContentAges, type ContentAgesOptions } from '../../src/qm/housekeeping/content-ages.js';
import { Bench, url } from './support.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let bench: Bench;
let ages: ContentAges;
beforeEach(() => {
  bench = new Bench();
  bench.db.pragma('synchronous = OFF');
  bench.provider(7);
  bench.clock.advance(1000 * DAY_MS);
});
afterEach(() => bench.close());

/** A Queue Manager that has just started. */
function start(limits: Partial<Pick<ContentAgesOptions, 'oldMs' | 'expireMs'>>): void {
  ages = new ContentAges({
    store: bench.store,
    clock: bench.clock,
    log: silentLog,
    oldMs: 0,
    expireMs: 0,
    onCommit: () => undefined,
    ...limits,
  });
}

/** Lets so much time pass, with the chore running whenever it wants to; rounds that find nothing are cut short. */
function run(ms: number): void {
  const endMs = bench.clock.monotonicMs() + ms;
  while (bench.clock.monotonicMs() < endMs) {
    const pauseMs = Math.max(ages.run(), HOUR_MS / 4);
    bench.clock.advance(Math.min(pauseMs, endMs - bench.clock.monotonicMs()));
  }
  ages.run();
}

const held = () =>
  bench.all<{ curl: string }>('SELECT curl FROM lccurl ORDER BY curl').map(r => r.curl.slice(17));
const wanted = (pid = 7) => bench.value('SELECT fullsetwanted FROM pidb WHERE pid = ?', pid);

async function store(...names: string[]): Promise<void> {
  await bench.send(
    7,
    names.map(name => url(name)),
  );
  for (const name of names) assert.equal(bench.fetch(7, name), 'done');
}

test('content that nobody confirms is removed for age, and its provider is asked for a full set', async () => {
  start({ expireMs: 10 * DAY_MS });
  ages.run();
  await store('a', 'b');
  run(9 * DAY_MS);
  assert.deepEqual([held(), wanted()], [['a', 'b'], null]);
  run(2 * DAY_MS);
  assert.deepEqual([held(), wanted()], [[], 'expired files']);
  assert.equal(bench.value('SELECT count(*) FROM tombstone'), 2);
  assert.equal(bench.value('SELECT count(*) FROM freed'), 2);
  assert.deepEqual(bench.all('SELECT filesused, spaceused FROM pidb'), [{ filesused: 0, spaceused: 0 }]);
});

test('a set that names it, or a fetch, makes content young again', async () => {
  start({ expireMs: 10 * DAY_MS });
  ages.run();
  await store('forgotten', 'named', 'fetched');
  run(6 * DAY_MS);
  await bench.send(7, [url('named', { len: '1' })]);
  await bench.send(7, [url('fetched')]);
  assert.equal(bench.fetch(7, 'fetched'), 'done');
  run(6 * DAY_MS);
  assert.deepEqual(held(), ['fetched', 'named']);
  run(6 * DAY_MS);
  assert.deepEqual(held(), []);
});

test('what waited long for its fetch is as young as that', async () => {
  start({ expireMs: 10 * DAY_MS });
  ages.run();
  await bench.send(7, [url('waited')]);
  run(9 * DAY_MS);
  assert.equal(bench.fetch(7, 'waited'), 'done');
  run(9 * DAY_MS);
  assert.deepEqual(held(), ['waited']);
  run(2 * DAY_MS);
  assert.deepEqual(held(), []);
});

test('a set that names what waits to be fetched keeps what is held of it', async () => {
  bench.provider(8, { filesmax: 1, spacemax: 2 });
  start({ oldMs: 9 * DAY_MS, expireMs: 10 * DAY_MS });
  ages.run();
  await store('waits', 'forgotten');
  await bench.send(8, [url('full', { len: '1' })]);
  assert.equal(bench.fetch(8, 'full'), 'done');
  run(6 * DAY_MS);
  await bench.send(7, [url('waits', { len: '9' })]);
  await bench.send(8, [url('full', { len: '9' })]);
  assert.equal(bench.row(8, 'full'), undefined, 'over quota');
  run(3 * DAY_MS + HOUR_MS);
  assert.deepEqual([held(), wanted(), wanted(8)], [['forgotten', 'full', 'waits'], 'old files', null]);
  run(3 * DAY_MS);
  assert.deepEqual(held(), ['full', 'waits']);
  await bench.send(7, [url('waits', { len: '8' })]);
  run(6 * DAY_MS);
  assert.deepEqual(held(), ['waits']);
  run(6 * DAY_MS);
  assert.deepEqual(held(), []);
});

test('what is held stays young when its new content is over quota', async () => {
  bench.provider(8, { spacemax: 20 });
  start({ expireMs: 10 * DAY_MS });
  ages.run();
  await bench.send(8, [url('a')]);
  assert.equal(bench.fetch(8, 'a'), 'done');
  run(6 * DAY_MS);
  await bench.send(8, [url('a')]);
  assert.equal(bench.fetch(8, 'a', 'x'.repeat(100)), 'done');
  assert.deepEqual(bench.all('SELECT code FROM pierr ORDER BY errseq'), [{ code: 203 }]);
  run(6 * DAY_MS);
  assert.deepEqual(held(), ['a']);
  run(5 * DAY_MS);
  assert.deepEqual(held(), []);
});

test('neither a clock that jumps nor an LCC that was away makes content old', async () => {
  start({ expireMs: 10 * DAY_MS });
  ages.run();
  await store('a');
  run(DAY_MS);
  bench.clock.jumpTo(bench.clock.nowMs() + 300 * DAY_MS);
  run(DAY_MS);
  assert.deepEqual(held(), ['a']);
  bench.reopen();
  bench.clock.advance(300 * DAY_MS);
  start({ expireMs: 10 * DAY_MS });
  run(DAY_MS);
  assert.deepEqual(held(), ['a']);
  bench.clock.jumpTo(bench.clock.nowMs() - 600 * DAY_MS);
  run(6 * DAY_MS);
  assert.deepEqual(held(), ['a']);
  // Hours of which it is not known when they were count for nothing: it takes ten more days.
  run(6 * DAY_MS);
  assert.deepEqual(held(), []);
});

test('time that is cut by restarts adds up', async () => {
  start({ expireMs: 10 * DAY_MS });
  ages.run();
  await store('a');
  for (let day = 0; day < 11; day++) {
    run(DAY_MS);
    bench.reopen();
    start({ expireMs: 10 * DAY_MS });
  }
  run(HOUR_MS);
  assert.deepEqual(held(), []);
});

test('content expires while a change of it waits, and that is fetched as new', async () => {
  start({ expireMs: 10 * DAY_MS });
  ages.run();
  await store('a');
  await bench.send(7, [url('a', { len: '9' })]);
  const sent = bench.row(7, 'a');
  assert.equal(sent?.held, 1);
  run(11 * DAY_MS);
  assert.deepEqual(held(), []);
  assert.equal(bench.row(7, 'a')?.held, 0);
  assert.equal(
    bench.answer(sent, { id: 1, status: 'unchanged', http: 304, wireBytes: 1, elapsedMs: 1 }, true),
    'again',
  );
  assert.equal(bench.fetch(7, 'a', 'new'), 'done');
  assert.deepEqual(held(), ['a']);
});

test('many rows go in pages; a Queue Manager that dies between two goes on', async () => {
  bench.close();
  bench = new Bench();
  bench.db.pragma('synchronous = OFF');
  bench.provider(7);
  bench.clock.advance(1000 * DAY_MS);
  start({ expireMs: DAY_MS });
  ages.run();
  const names = Array.from({ length: 1234 }, (_, i) => `p${i}`);
  await store(...names);
  run(DAY_MS - HOUR_MS);
  assert.equal(held().length, 1234);
  bench.clock.advance(2 * HOUR_MS);
  ages.run();
  bench.clock.advance(2 * HOUR_MS);
  let left = held().length;
  while (left === 1234) {
    bench.clock.advance(ages.run());
    left = held().length;
  }
  assert.ok(left > 0 && left < 1234, String(left));
  bench.reopen();
  start({ expireMs: DAY_MS });
  run(HOUR_MS);
  assert.equal(held().length, 0);
  assert.equal(bench.value('SELECT filesused FROM pidb'), 0);
});

test('content that was announced again stays until that is fetched, however old it is', async () => {
  start({ expireMs: 10 * DAY_MS });
  ages.run();
  await store('a', 'b', 'c');
  run(9 * DAY_MS);
  await bench.send(7, [url('a', { len: '2' }), url('c', { len: '2' })]);
  await bench.send(7, [url('c', { op: 'delete' })]);
  run(2 * DAY_MS);
  assert.deepEqual(held(), ['a']);
  run(10 * DAY_MS);
  assert.deepEqual(held(), [], 'nor was it named again');
});

test('a provider that holds content and has been silent is asked for a full set; it stays asked', async () => {
  bench.provider(8);
  start({ oldMs: 90 * DAY_MS });
  await store('a');
  run(80 * DAY_MS);
  await bench.intake.note({ pid: 7, seq: 99, ip: '', errseen: 0 });
  run(20 * DAY_MS);
  assert.equal(wanted(), null, 'it has connected');
  run(80 * DAY_MS);
  assert.equal(wanted(), 'old files');
  assert.equal(wanted(8), null, 'it holds nothing');
  await bench.send(7, [url('a', { len: '1' })]);
  assert.equal(wanted(), 'old files');
  await bench.send(7, [url('a', { len: '1' })], { set: 'full' });
  run(DAY_MS);
  assert.equal(wanted(), null);
  assert.deepEqual(held(), ['a']);
});

test('nobody is asked for what was only pushed, neither when it is old nor when it expires', async () => {
  bench.provider(8);
  start({ oldMs: 5 * DAY_MS, expireMs: 10 * DAY_MS });
  await bench.send(8, [url('pushed', { mimetype: '*/*' })], { origin: 'push' });
  bench.fetch(8, 'pushed', 'a text', { mimetype: 'text/html' }, '*/*');
  assert.deepEqual(held(), ['pushed']);
  run(9 * DAY_MS);
  assert.deepEqual([held(), wanted(8)], [['pushed'], null]);
  run(2 * DAY_MS);
  assert.deepEqual([held(), wanted(8)], [[], null]);
});

test('where content expires, providers are asked before it does', async () => {
  start({ oldMs: 5 * DAY_MS, expireMs: 10 * DAY_MS });
  ages.run();
  await store('a', 'b');
  for (let day = 0; day < 6; day++) {
    run(DAY_MS);
    await bench.send(7, [url('b', { len: '1' })]);
  }
  run(HOUR_MS);
  assert.deepEqual([held(), wanted()], [['a', 'b'], 'old files']);
});

test('with both limits 0 nothing is written, ever', async () => {
  start({});
  await store('a');
  const before = bench.value('PRAGMA data_version');
  run(1000 * DAY_MS);
  assert.deepEqual([held(), wanted(), bench.value('SELECT count(*) FROM agemark')], [['a'], null, 0]);
  assert.equal(bench.value('PRAGMA data_version'), before);
});

test('marks are few: those of the longer limit and some', () => {
  start({ expireMs: 10 * DAY_MS });
  run(30 * DAY_MS);
  const marks = Number(bench.value('SELECT count(*) FROM agemark'));
  assert.ok(marks >= 240 && marks <= 250, String(marks));
});
