/** What results say of held pages: how often they change, when they are gone, and what their owner's word was worth. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { AS_SERVED } from '../../../src/wire/url.js';
import { absolute, Bench, failure, ok, unchanged, url, type BenchOptions } from '../../qm/support.js';

const HOUR = 3600;
const DAY = 24 * HOUR;
const SCAN = { origin: 'scan' } as const;

function benchOf(t: TestContext, options: BenchOptions = {}): Bench {
  const bench = new Bench({ retries: 0, ...options });
  t.after(() => bench.close());
  bench.provider(7);
  return bench;
}

const pass = (bench: Bench, seconds: number) => bench.clock.advance(seconds * 1000);
const visit = (bench: Bench) => bench.all('SELECT n, x, t FROM visit')[0];
const failing = (bench: Bench) => bench.all('SELECT fails, failcode FROM visit')[0];
const truth = (bench: Bench) =>
  bench.all('SELECT sum(changed) AS c, sum(same) AS s, sum(failed) AS f, sum(fresh) AS fresh FROM truth')[0];
const held = (bench: Bench) => Number(bench.value('SELECT count(*) FROM lccurl'));

async function announced(bench: Bench, curl: string, content: string, more = {}): Promise<void> {
  await bench.send(7, [url(curl, more)]);
  assert.equal(bench.fetch(7, curl, content), 'done');
}

/** A scan asks for a page again. */
async function scanned(bench: Bench, curl: string, answer: string | number | undefined): Promise<void> {
  await bench.send(7, [url(curl)], SCAN);
  const row = bench.row(7, curl);
  assert.ok(row, `${curl} waits`);
  const result =
    answer === undefined
      ? unchanged
      : typeof answer === 'string'
        ? ok(answer)
        : failure(answer, answer >= 500 ? 'url' : 'real');
  assert.equal(bench.answer({ ...row, isSpecial: true }, result, true), 'done');
}

test('each fetch of what is held is a visit: changes, seconds between them; sixteen count as eight', async t => {
  const bench = benchOf(t);
  await announced(bench, 'a', 'one');
  assert.equal(visit(bench), undefined, 'what came first is no visit');
  pass(bench, 100);
  await scanned(bench, 'a', undefined);
  assert.deepEqual(visit(bench), { n: 1, x: 0, t: 100 });
  pass(bench, 50);
  await scanned(bench, 'a', 'two');
  pass(bench, 50);
  await scanned(bench, 'a', 'two');
  assert.deepEqual(visit(bench), { n: 3, x: 1, t: 200 });
  for (let i = 4; i < 16; i++) {
    pass(bench, 100);
    await scanned(bench, 'a', `new ${i}`);
  }
  assert.deepEqual(visit(bench), { n: 15, x: 13, t: 1400 });
  pass(bench, 200);
  await scanned(bench, 'a', 'newest');
  assert.deepEqual(visit(bench), { n: 8, x: 7, t: 800 });
});

test('with a clock that was set back no time has passed, and the row goes with the content', async t => {
  const bench = benchOf(t);
  pass(bench, DAY);
  await announced(bench, 'a', 'one');
  bench.clock.jumpTo(bench.clock.nowMs() - HOUR * 1000);
  await scanned(bench, 'a', undefined);
  assert.deepEqual(visit(bench), { n: 1, x: 0, t: 0 });
  await bench.send(7, [url('a', { op: 'delete' })]);
  assert.equal(bench.value('SELECT count(*) FROM visit'), 0);
});

test('404 once is kept, twice an hour apart is gone, and no link brings it back at once', async t => {
  const bench = benchOf(t);
  await announced(bench, 'a', 'one');
  await announced(bench, 'b', 'two');
  pass(bench, DAY);
  await scanned(bench, 'a', 404);
  pass(bench, HOUR - 1);
  await scanned(bench, 'a', 404);
  assert.equal(held(bench), 2);
  pass(bench, 1);
  await scanned(bench, 'a', 404);
  assert.equal(held(bench), 1);
  assert.equal(bench.value('SELECT code FROM known WHERE curl = ?', absolute('a')), 404);
  await bench.send(7, [url('a', { mimetype: AS_SERVED, ifabsent: 'yes', hops: '1' })], { origin: 'links' });
  assert.equal(bench.row(7, 'a', AS_SERVED), undefined);
  assert.equal(bench.value('SELECT count(*) FROM tombstone'), 1);
  await scanned(bench, 'b', 410);
  assert.equal(held(bench), 0);
  assert.equal(bench.value('SELECT nurlerrs FROM pidb'), 0);
});

test('404, found again, 404: that is once; what the site only refuses stays for a week', async t => {
  const bench = benchOf(t);
  await announced(bench, 'a', 'one');
  pass(bench, DAY);
  await scanned(bench, 'a', 404);
  pass(bench, DAY);
  await scanned(bench, 'a', undefined);
  assert.deepEqual(failing(bench), { fails: 0, failcode: null });
  pass(bench, DAY);
  for (const code of [404, 403, 401, 503, 603]) {
    await scanned(bench, 'a', code);
    pass(bench, DAY);
  }
  assert.deepEqual(failing(bench), { fails: 5, failcode: 603 });
  pass(bench, DAY);
  await scanned(bench, 'a', 503);
  assert.equal(held(bench), 1, 'six times, over six days');
  pass(bench, DAY);
  await scanned(bench, 'a', 503);
  assert.equal(held(bench), 0);
});

test('that robots.txt forbids a page for days is no failure of it: one that follows is the first', async t => {
  const bench = benchOf(t);
  await announced(bench, 'a', 'one');
  for (let day = 0; day < 10; day++) {
    pass(bench, DAY);
    await scanned(bench, 'a', 615);
  }
  assert.equal(failing(bench), undefined, 'nothing was asked');
  pass(bench, DAY);
  await scanned(bench, 'a', 503);
  assert.equal(held(bench), 1);
  assert.deepEqual(failing(bench), { fails: 1, failcode: 503 });
});

test('more pages gone in a day than the fuse permits stay', async t => {
  const bench = benchOf(t, { fuse: { percent: 50, urls: 2 } });
  const all = Array.from({ length: 20 }, (_, i) => `p${i}`);
  for (const path of all) await announced(bench, path, path);
  pass(bench, DAY);
  for (const path of all.slice(0, 12)) await scanned(bench, path, 410);
  assert.equal(held(bench), 10);
  assert.deepEqual(bench.all('SELECT sum(removed) AS removed, sum(keptback) AS kept FROM truth')[0], {
    removed: 10,
    kept: 2,
  });
  pass(bench, 2 * DAY);
  await scanned(bench, 'p11', 410);
  assert.equal(held(bench), 9, 'on another day they go');
});

const names = (count: number) => Array.from({ length: count }, (_, i) => `p${i}`);
const holds = (bench: Bench, path: string) => bench.store.content.findAny(7, absolute(path)) !== undefined;
const wait = (bench: Bench) =>
  Number(bench.value('SELECT until - asked FROM known ORDER BY asked DESC LIMIT 1')) / HOUR;

for (const { pages, kept } of [
  { pages: 5, kept: 2 },
  { pages: 40, kept: 36 },
  { pages: 100, kept: 90 },
])
  test(`a site of ${pages} pages that answers 404 for two hours keeps ${kept}, whatever number the fuse has`, async t => {
    const bench = benchOf(t, { fuse: { percent: 50, urls: 1000 } });
    for (const path of names(pages)) await announced(bench, path, path);
    pass(bench, DAY);
    for (let hour = 0; hour < 3; hour++) {
      for (const path of names(pages)) if (holds(bench, path)) await scanned(bench, path, 404);
      pass(bench, HOUR);
    }
    assert.equal(held(bench), kept);
    assert.equal(bench.value('SELECT count(*) FROM known WHERE until - asked < 86400'), pages - kept);
    for (const path of names(pages)) if (holds(bench, path)) await scanned(bench, path, undefined);
    assert.equal(held(bench), kept, 'what stayed is as it was');
  });

test('what a site says to be gone, or has not had for a week, goes by half of a small one; a fuse that is off lets all go', async t => {
  for (const { percent, left } of [
    { percent: 50, left: 5 },
    { percent: 20, left: 8 },
    { percent: 100, left: 0 },
  ]) {
    const bench = benchOf(t, { fuse: { percent, urls: percent === 20 ? 0 : 1000 } });
    for (const path of names(10)) await announced(bench, path, path);
    pass(bench, DAY);
    for (const path of names(10)) await scanned(bench, path, 410);
    assert.equal(held(bench), left, `410, ${percent} %`);
  }
  const bench = benchOf(t, { fuse: { percent: 50, urls: 1000 } });
  for (const path of names(10)) await announced(bench, path, path);
  for (let day = 0; day <= 7; day++) {
    pass(bench, DAY);
    for (const path of names(10)) await scanned(bench, path, 503);
  }
  assert.equal(held(bench), 5);
});

test('what was held and is gone is asked for after half a day, then ever later', async t => {
  const bench = benchOf(t);
  await announced(bench, 'a', 'one');
  pass(bench, DAY);
  await scanned(bench, 'a', 410);
  const waits = [wait(bench)];
  const again = [url('a', { mimetype: AS_SERVED, ifabsent: 'yes', hops: '1' })];
  while (waits.length < 7) {
    pass(bench, (waits.at(-1) ?? 0) * HOUR);
    await bench.send(7, again, { origin: 'links' });
    const row = bench.row(7, 'a', AS_SERVED);
    assert.ok(row, 'its time has come');
    bench.answer({ ...row, isSpecial: true }, failure(410, 'real'), true);
    waits.push(wait(bench));
  }
  assert.deepEqual(waits, [10.5, 21, 42, 3.5 * 24, 7 * 24, 14 * 24, 28 * 24]);
});

test('the score counts what was held and announced as updated, once a day, and nothing else', async t => {
  const bench = benchOf(t);
  await announced(bench, 'a', 'one', { mtime: '2026-11-01T00:00:00Z' });
  assert.deepEqual(truth(bench), { c: 0, s: 0, f: 0, fresh: 1 });
  pass(bench, DAY);
  await announced(bench, 'a', 'two', { mtime: '2026-11-02T00:00:00Z' });
  assert.deepEqual(truth(bench), { c: 1, s: 0, f: 0, fresh: 1 });
  await announced(bench, 'a', 'two', { mtime: '2026-11-03T00:00:00Z' });
  assert.deepEqual(truth(bench), { c: 1, s: 0, f: 0, fresh: 1 }, 'a second time that day');
  pass(bench, DAY);
  await announced(bench, 'a', 'two', { mtime: '2026-11-04T00:00:00Z' });
  assert.deepEqual(truth(bench), { c: 1, s: 1, f: 0, fresh: 1 });
  pass(bench, DAY);
  await announced(bench, 'a', 'three');
  await scanned(bench, 'a', 'four');
  assert.deepEqual(truth(bench), { c: 1, s: 1, f: 0, fresh: 1 }, 'without a claim, or asked unasked');
  await bench.send(7, [url('a', { len: '99' })]);
  const row = bench.row(7, 'a');
  assert.ok(row);
  bench.answer(row, failure(503, 'url'));
  assert.equal(held(bench), 0);
  assert.deepEqual(truth(bench), { c: 1, s: 1, f: 0, fresh: 1 }, 'a site that is busy has not lied');
  await announced(bench, 'b', 'x');
  await bench.send(7, [url('b', { len: '99' })]);
  bench.missing(7, 'b');
  assert.deepEqual(truth(bench), { c: 1, s: 1, f: 1, fresh: 2 });
});

test('a transaction that fails counts nothing', async t => {
  const bench = benchOf(t);
  await announced(bench, 'a', 'one');
  assert.throws(() =>
    bench.store.transaction(() => {
      bench.store.truth.count(7, 0, 'changed');
      throw new Error('no');
    }),
  );
  await announced(bench, 'b', 'one');
  assert.deepEqual(truth(bench), { c: 0, s: 0, f: 0, fresh: 2 });
});
