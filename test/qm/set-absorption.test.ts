import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, test } from 'node:test';
import { disagreement, strayRows } from '../../src/db/queue/sets-from-urls.js';
import { absolute, Bench, md5Of, ok, url, setsOf } from './support.js';

let bench: Bench;
beforeEach(() => {
  bench = new Bench();
  bench.provider(7);
});
afterEach(() => bench.close());

const waiting = () =>
  bench.all('SELECT curl, op, gen FROM qdb ORDER BY pos').map(r => Object.values(r).join(' '));
/** Writing past the store would leave rows that do not agree with their sums, which the store takes for damaged. */
const heldUrls = () => bench.all<{ curl: string }>('SELECT curl FROM lccurl ORDER BY curl').map(r => r.curl);

async function holds(curl: string, content = 'x', more = {}): Promise<void> {
  await bench.send(7, [url(curl, more)]);
  assert.equal(bench.fetch(7, curl, content), 'done');
}

test('urls wait in the order sent, absolute, and the set becomes visible when it is complete', async () => {
  const intake = await bench.intake.begin('u1', bench.head(7, 2));
  intake.urls([url('b'), url('http://127.0.0.1/a', { furl: 'raw/a', burl: '' })]);
  assert.deepEqual(setsOf(bench.store.queue), []);
  assert.deepEqual(await intake.end(), { queued: 2, duplicate: 0, unchanged: 0, deleted: 0 });
  assert.deepEqual(waiting(), [`${absolute('b')} 1 1`, `${absolute('a')} 1 1`]);
  assert.equal(bench.row(7, 'a')?.furl, absolute('raw/a'));
  assert.equal(bench.row(7, 'a')?.burl, '');
  assert.equal(setsOf(bench.store.queue).length, 1);
  assert.deepEqual(bench.sets, setsOf(bench.store.queue));
});

describe('a large set', () => {
  const LARGE = 10_001;
  const some = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => url(`p${from + i}`));
  const begin = (entry = 'large') => bench.intake.begin('u1', bench.head(7, LARGE, { entry }));

  it('is fetched while the rest is taken: told slice by slice, once for each', async () => {
    const intake = await begin();
    intake.urls(some(0, 999));
    assert.deepEqual(setsOf(bench.store.queue), []);
    intake.urls(some(999, 2500));
    const [set] = setsOf(bench.store.queue);
    assert.deepEqual(bench.sets, [set, set]);
    const first = set?.firstpos ?? 0;
    assert.deepEqual(bench.from, [first, first + 1000]);
    assert.equal((set?.lastpos ?? 0) - first + 1, LARGE);
    assert.equal(bench.fetch(7, 'p0'), 'done');
    assert.equal(disagreement(bench.db), undefined);
    assert.deepEqual([...strayRows(bench.db)], []);
    intake.urls(some(2500, LARGE));
    assert.deepEqual(await intake.end(), { queued: LARGE, duplicate: 0, unchanged: 0, deleted: 0 });
    assert.deepEqual(bench.from.at(-1), first + 10_000);
    assert.equal(waiting().length, LARGE - 1);
    assert.deepEqual(setsOf(bench.store.queue), [set]);
  });

  it('that is cut off, whose urls are done meanwhile, goes on where it stopped, and nothing is fetched twice', async () => {
    const intake = await begin();
    intake.urls(some(0, 1000));
    intake.cut();
    bench.reopen();
    const [set] = setsOf(bench.store.queue);
    for (let n = 0; n < 1000; n++) assert.equal(bench.fetch(7, `p${n}`), 'done');
    if (set !== undefined) bench.store.transaction(() => bench.store.queue.removeSet(set));
    const again = await begin();
    again.urls(some(0, LARGE));
    const counts = await again.end();
    assert.deepEqual(counts, { queued: LARGE, duplicate: 0, unchanged: 0, deleted: 0 });
    assert.equal(waiting().length, LARGE - 1000);
    assert.equal(disagreement(bench.db), undefined);
    assert.deepEqual(setsOf(bench.store.queue), [set]);
  });

  it('that is full keeps what was fetched of it while it was taken, and removes the rest', async () => {
    await holds('old');
    await holds('p5');
    const intake = await bench.intake.begin('u1', bench.head(7, LARGE, { set: 'full' }));
    intake.urls(some(0, 1000));
    assert.equal(bench.fetch(7, 'p1'), 'done');
    intake.urls(some(1000, LARGE));
    await intake.end();
    assert.deepEqual(
      heldUrls(),
      ['p1', 'p5'].map(name => absolute(name)),
    );
  });
});

test('one page as HTML and as XML are two urls', async () => {
  await bench.send(7, [url('a'), url('a', { mimetype: 'text/xml' })]);
  assert.equal(waiting().length, 2);
});

test('the same url again keeps its place; the last attributes win and its generation rises', async () => {
  await bench.send(7, [url('a', { md5: md5Of('1'), subtype: 'x:1' }), url('b')]);
  const counts = await bench.send(7, [url('c'), url('a', { len: '3' })]);
  assert.deepEqual(counts, { queued: 1, duplicate: 1, unchanged: 0, deleted: 0 });
  assert.deepEqual(waiting(), [`${absolute('a')} 1 2`, `${absolute('b')} 1 1`, `${absolute('c')} 1 1`]);
  const row = bench.row(7, 'a');
  assert.deepEqual([row?.md5, row?.len, row?.subtype], [null, 3, null]);
});

test('the same url twice in one set, and in one statement, is one row', async () => {
  const urls = Array.from({ length: 120 }, (_, i) => url(`p${i % 40}`, { len: String(i) }));
  assert.deepEqual(await bench.send(7, urls), { queued: 40, duplicate: 80, unchanged: 0, deleted: 0 });
  assert.equal(bench.row(7, 'p0')?.len, 80);
  assert.equal(bench.row(7, 'p0')?.gen, 3);
});

test('a delete after a waiting update: nothing is fetched, stored content is deleted', async () => {
  await holds('a');
  await bench.send(7, [url('a', { len: '9' })]);
  const counts = await bench.send(7, [url('a', { op: 'delete' })]);
  assert.deepEqual(counts, { queued: 0, duplicate: 0, unchanged: 0, deleted: 1 });
  assert.deepEqual(waiting(), [`${absolute('a')} 0 2`]);
  assert.deepEqual(heldUrls(), []);
  assert.equal(bench.value('SELECT count(*) FROM tombstone'), 1);
  assert.equal(bench.value('SELECT count(*) FROM freed'), 1);
});

test('an update after a waiting delete is fetched, at the first place', async () => {
  await bench.send(7, [url('a'), url('b')]);
  await bench.send(7, [url('a', { furl: '' })]);
  await bench.send(7, [url('a')]);
  assert.deepEqual(waiting(), [`${absolute('a')} 1 3`, `${absolute('b')} 1 1`]);
});

test('update and delete of one url within a slice act in the order sent', async () => {
  await bench.send(7, [url('a'), url('a', { op: 'delete' }), url('b', { op: 'delete' }), url('b')]);
  assert.deepEqual(waiting(), [`${absolute('a')} 0 2`, `${absolute('b')} 1 1`]);
});

test('a delete of what is neither held nor waiting does nothing', async () => {
  const counts = await bench.send(7, [url('a', { op: 'delete' })]);
  assert.deepEqual(counts, { queued: 0, duplicate: 0, unchanged: 1, deleted: 0 });
  assert.equal(setsOf(bench.store.queue).length, 0);
});

test('a url whose given md5, len and mtime are those held is not fetched', async () => {
  const said = { md5: md5Of('x'), len: '1', mtime: '2026-01-01T00:00:00Z' };
  await holds('a', 'x', { mtime: said.mtime });
  for (const given of [said, { md5: said.md5 }, { len: '1' }, { mtime: '1767225600' }]) {
    assert.deepEqual(await bench.send(7, [url('a', given)]), {
      queued: 0,
      duplicate: 0,
      unchanged: 1,
      deleted: 0,
    });
  }
  for (const given of [{ ...said, len: '2' }, { md5: md5Of('y') }, { mtime: '2026-01-01T00:00:01Z' }, {}]) {
    assert.equal(((await bench.send(7, [url('a', given)])) as { queued: number }).queued, 1);
    bench.fetch(7, 'a', 'x');
    // As it was before, whatever that takes.
    await bench.send(7, [url('a', { mtime: said.mtime })]);
    if (bench.row(7, 'a') !== undefined) bench.fetch(7, 'a', 'x');
  }
});

test('what the CP said and did not come counts as what is held after it came twice', async () => {
  const said = { len: '5', md5: md5Of('source') };
  await holds('a', 'generated', said);
  assert.equal(((await bench.send(7, [url('a', said)])) as { queued: number }).queued, 1);
  bench.fetch(7, 'a', 'generated');
  const counts = await bench.send(7, [url('a', { len: '5', md5: md5Of('source') })]);
  assert.deepEqual(counts, { queued: 0, duplicate: 0, unchanged: 1, deleted: 0 });
});

test('nothing is unchanged while a change of it waits', async () => {
  await holds('a');
  await bench.send(7, [url('a', { len: '2' })]);
  const counts = await bench.send(7, [url('a', { len: '1' })]);
  assert.deepEqual(counts, { queued: 0, duplicate: 1, unchanged: 0, deleted: 0 });
  assert.equal(bench.row(7, 'a')?.len, 1);
});

test('unchanged content with a new browse URL is a change content users see, without a fetch', async () => {
  await holds('a');
  const before = bench.value("SELECT value FROM counter WHERE name = 'seq'");
  await bench.send(7, [url('a', { len: '1', burl: 'shown' })]);
  assert.deepEqual(waiting(), []);
  // The first of the two numbers says that the former browse URL is gone.
  assert.deepEqual(bench.all('SELECT burl, seq FROM lccurl'), [
    { burl: absolute('shown'), seq: Number(before) + 2 },
  ]);
});

test('"if absent" fetches only what is neither held nor waiting, and leaves what waits as it is', async () => {
  await holds('a');
  await bench.send(7, [url('b', { len: '4' })]);
  const ifabsent = { ifabsent: 'yes' };
  const counts = await bench.send(7, [url('a', ifabsent), url('b', ifabsent), url('c', ifabsent)]);
  assert.deepEqual(counts, { queued: 1, duplicate: 1, unchanged: 1, deleted: 0 });
  assert.deepEqual([bench.row(7, 'b')?.len, bench.row(7, 'b')?.gen], [4, 1]);
});

test('a full set removes what it does not name: held, waiting and being fetched', async () => {
  await holds('held');
  await holds('kept');
  await bench.send(7, [url('waits'), url('flies')]);
  const flying = bench.row(7, 'flies');
  const counts = await bench.send(7, [url('kept', { len: '1' }), url('new')], { set: 'full' });
  assert.deepEqual(counts, { queued: 1, duplicate: 0, unchanged: 1, deleted: 3 });
  assert.deepEqual(heldUrls(), [absolute('kept')]);
  assert.deepEqual(waiting(), [`${absolute('new')} 1 1`]);
  assert.ok(flying !== undefined);
  assert.equal(bench.answer(flying, ok('late', { fileId: 'late' })), 'done');
  assert.deepEqual(heldUrls(), [absolute('kept')]);
  assert.equal(bench.value("SELECT count(*) FROM freed WHERE fileid = 'late'"), 1);
});

test('a full set keeps what it names and another provider has', async () => {
  bench.provider(8);
  await bench.send(8, [url('a')]);
  bench.fetch(8, 'a');
  await bench.send(7, [url('waits', { len: '1' })]);
  await bench.send(7, [url('waits', { len: '2' })], { set: 'full' });
  assert.deepEqual(waiting(), [`${absolute('waits')} 1 2`]);
  assert.equal(heldUrls().length, 1);
});

test('what a full set names and is fetched before its end stays', async () => {
  bench.close();
  bench = new Bench({ sliceUrls: 1 });
  bench.provider(7);
  await bench.send(7, [url('a')]);
  const intake = await bench.intake.begin('u1', bench.head(7, 2, { set: 'full' }));
  intake.urls([url('a')]);
  assert.equal(bench.fetch(7, 'a'), 'done');
  intake.urls([url('b')]);
  await intake.end();
  assert.deepEqual(heldUrls(), [absolute('a')]);
});

test('an empty full set removes everything of its provider', async () => {
  await holds('a');
  await bench.send(7, [url('b')]);
  await bench.send(7, [], { set: 'full' });
  assert.deepEqual([waiting(), heldUrls()], [[], []]);
  assert.deepEqual(bench.all('SELECT filesused, spaceused, nurlproc FROM pidb'), [
    { filesused: 0, spaceused: 0, nurlproc: 0 },
  ]);
});

test('a full set cut off anywhere removes nothing; sent again it counts once', async () => {
  bench.close();
  const urls = Array.from({ length: 10 }, (_, i) => url(`n${i}`));
  for (let cut = 0; cut <= urls.length; cut++) {
    bench = new Bench({ sliceUrls: 3 });
    bench.provider(7);
    await holds('old');
    const head = bench.head(7, urls.length, { set: 'full' });
    const first = await bench.intake.begin('u1', head);
    first.urls(urls.slice(0, cut));
    first.cut();
    bench.reopen();
    assert.deepEqual(heldUrls(), [absolute('old')], `cut after ${cut}`);
    for (let time = 0; time < 2; time++) {
      const again = await bench.intake.begin('u1', head);
      again.urls(urls);
      assert.deepEqual(await again.end(), { queued: 10, duplicate: 0, unchanged: 0, deleted: 1 });
      bench.reopen();
    }
    assert.deepEqual(heldUrls(), []);
    assert.equal(waiting().length, 10);
    assert.equal(bench.value('SELECT nurlproc FROM pidb'), 10);
    if (cut < urls.length) bench.close();
  }
});

test('urls beyond those that were announced take no place of another set', async () => {
  bench.close();
  bench = new Bench({ sliceUrls: 2 });
  for (const pid of [7, 8]) bench.provider(pid);
  const intake = await bench.intake.begin('u1', bench.head(7, 3));
  intake.urls(['a', 'b'].map(name => url(name)));
  const counts = await bench.send(8, [url('c'), url('d')]);
  assert.deepEqual(counts, { queued: 2, duplicate: 0, unchanged: 0, deleted: 0 });
  intake.urls(['e', 'f', 'g', 'h'].map(name => url(name)));
  assert.deepEqual(await intake.end(), {
    code: 104,
    reason: 'more urls than the 3 that were announced',
  });
  assert.equal(disagreement(bench.db), undefined);
  assert.deepEqual(
    bench.all<{ pid: number }>('SELECT pid FROM qdb ORDER BY pos').map(({ pid }) => pid),
    [7, 7, 8, 8],
  );
});

test('a set with more or fewer urls than announced is refused, what came of it stays, a full set is wanted', async () => {
  bench.close();
  for (const [announced, code] of [
    [1, 104],
    [9, 204],
  ] as const) {
    bench = new Bench({ sliceUrls: 2 });
    bench.provider(7);
    const intake = await bench.intake.begin('u1', bench.head(7, announced, { set: 'full' }));
    intake.urls([url('a'), url('b'), url('c')]);
    const answer = await intake.end();
    assert.equal('code' in answer && answer.code, code);
    assert.equal(bench.value('SELECT fullsetwanted FROM pidb'), 'cache crash');
    assert.equal(setsOf(bench.store.queue).length, bench.value('SELECT count(DISTINCT psetid) FROM qdb'));
    if (code === 104) bench.close();
  }
});

test('a refused set whose UNS did not hear so is refused again, and nothing of it is taken twice', async () => {
  bench.close();
  for (const [announced, code] of [
    [1, 104],
    [3, 104],
    [9, 204],
  ] as const) {
    bench = new Bench({ sliceUrls: 1 });
    bench.provider(7);
    const head = bench.head(7, announced);
    const answers = [];
    const left = [];
    for (const _ of ['at first', 'again']) {
      const intake = await bench.intake.begin('u1', head);
      intake.urls(['a', 'b', 'c', 'd'].map(name => url(name)));
      answers.push(await intake.end());
      left.push([waiting(), setsOf(bench.store.queue), bench.all('SELECT * FROM absorbed')]);
    }
    assert.deepEqual(
      answers.map(answer => 'code' in answer && answer.code),
      [code, code],
    );
    assert.deepEqual(left[1], left[0]);
    if (code === 104) bench.close();
  }
});

test('a delete makes room for what follows it in the same set', async () => {
  const bench = new Bench();
  try {
    bench.provider(7, { spacemax: 6 });
    await bench.send(7, [url('a', { len: '3' }), url('b', { len: '3' })]);
    bench.fetch(7, 'a', 'xxx');
    bench.fetch(7, 'b', 'xxx');
    const counts = await bench.send(7, [url('a', { op: 'delete' }), url('c', { len: '2' })]);
    assert.deepEqual(counts, { queued: 1, duplicate: 0, unchanged: 0, deleted: 1 });
    assert.deepEqual(bench.all('SELECT code FROM pierr ORDER BY errseq'), []);
  } finally {
    bench.close();
  }
});
