import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { absolute, Bench, failure, md5Of, ok, url } from './support.js';

let bench: Bench;
beforeEach(() => {
  bench = new Bench();
  bench.provider(7);
});
afterEach(() => bench.close());

const waiting = () =>
  bench.all('SELECT curl, op, gen FROM qdb ORDER BY pos').map(r => Object.values(r).join(' '));
/** Writing past the store would leave rows that do not agree with their sums, which the store takes for damaged. */
afterEach(() => assert.deepEqual(bench.damage, []));
const heldUrls = () => bench.all<{ curl: string }>('SELECT curl FROM lccurl ORDER BY curl').map(r => r.curl);

async function holds(curl: string, content = 'x', more = {}): Promise<void> {
  await bench.send(7, [url(curl, more)]);
  assert.equal(bench.fetch(7, curl, content), 'done');
}

test('urls wait in the order sent, absolute, and the set becomes visible when it is complete', async () => {
  const intake = await bench.intake.begin('u1', bench.head(7, 2));
  intake.urls([url('b'), url('http://127.0.0.1/a', { furl: 'raw/a', burl: '' })]);
  assert.deepEqual(bench.store.queue.sets(), []);
  assert.deepEqual(await intake.end(), { queued: 2, duplicate: 0, unchanged: 0, deleted: 0 });
  assert.deepEqual(waiting(), [`${absolute('b')} 1 1`, `${absolute('a')} 1 1`]);
  assert.equal(bench.row(7, 'a')?.furl, absolute('raw/a'));
  assert.equal(bench.row(7, 'a')?.burl, '');
  assert.equal(bench.store.queue.sets().length, 1);
  assert.deepEqual(bench.sets, bench.store.queue.sets());
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
  assert.equal(bench.store.queue.sets().length, 0);
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

test('what the CP said when it was fetched counts as what is held', async () => {
  await holds('a', 'generated', { len: '5', md5: md5Of('source') });
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
    assert.equal(bench.store.queue.sets().length, bench.value('SELECT count(DISTINCT psetid) FROM qdb'));
    if (code === 104) bench.close();
  }
});

test('a set of an unknown provider is refused', async () => {
  const answer = await bench.send(99, [url('a')]);
  assert.deepEqual(answer, { code: 101, reason: 'provider 99 is unknown' });
});

test('sets of one provider are taken one after the other, those of others at once', async () => {
  bench.provider(8);
  const first = await bench.intake.begin('u1', bench.head(7, 1));
  let begun = false;
  const second = bench.intake.begin('u2', bench.head(7, 1)).then(set => {
    begun = true;
    return set;
  });
  await bench.send(8, [url('x')]);
  assert.equal(begun, false);
  first.urls([url('a')]);
  await first.end();
  const set = await second;
  set.urls([url('b')]);
  await set.end();
  assert.deepEqual(
    bench.all('SELECT curl FROM qdb WHERE pid = 7 ORDER BY pos').map(r => r['curl']),
    [absolute('a'), absolute('b')],
  );
  assert.equal(bench.intake.open, 0);
});

/** Provider 7 has two errors. @returns the number of the first */
async function twoErrors(): Promise<number> {
  await bench.send(7, [url('a'), url('b')]);
  for (const name of ['a', 'b']) {
    const row = bench.row(7, name);
    assert.ok(row);
    bench.answer(row, failure(404, 'real'));
  }
  return Number(bench.value('SELECT min(errseq) FROM pierr'));
}

test('errors are forgotten only up to the one the CP has received', async () => {
  const first = await twoErrors();
  await bench.intake.note({ pid: 7, seq: 5, ip: '192.0.2.9', errseen: first });
  assert.deepEqual(bench.all('SELECT errseq FROM pierr'), [{ errseq: first + 1 }]);
  assert.deepEqual(bench.all('SELECT nurlerrs, lastconnseq, lastconnip FROM pidb'), [
    { nurlerrs: 1, lastconnseq: 5, lastconnip: '192.0.2.9' },
  ]);
});

test('sets that can no longer come again are forgotten, and no others', async () => {
  bench.close();
  bench = new Bench({ sliceUrls: 1 });
  for (const pid of [7, 8]) bench.provider(pid);
  await bench.send(7, [url('a')]);
  const open = await bench.intake.begin('u1', bench.head(7, 2));
  open.urls([url('b')]);
  open.cut();
  const elsewhere = await bench.intake.begin('u2', bench.head(8, 1));
  elsewhere.urls([url('c')]);
  await elsewhere.end();
  bench.db.exec("UPDATE counter SET value = 10998 WHERE name = 'psetid'");
  const known = () => bench.all<{ psetid: number }>('SELECT psetid FROM absorbed').map(row => row.psetid);
  await bench.send(8, [url('d')]);
  assert.deepEqual(
    known().toSorted((a, b) => a - b),
    [1, 2, 3, 10_999],
  );
  await bench.send(8, [url('e')]);
  assert.deepEqual(
    known().toSorted((a, b) => a - b),
    [2, 3, 10_999, 11_000],
  );
});

test('a set says which session it is of, and which errors its CP had received', async () => {
  const first = await twoErrors();
  await bench.send(7, [url('c')], { seq: 17, ip: '192.0.2.17', errseen: first });
  assert.deepEqual(bench.all('SELECT errseq FROM pierr'), [{ errseq: first + 1 }]);
  assert.deepEqual(bench.all('SELECT nurlerrs, lastconnseq, lastconnip FROM pidb'), [
    { nurlerrs: 1, lastconnseq: 17, lastconnip: '192.0.2.17' },
  ]);
});

test('a session that is told of late does not hide a later one', async () => {
  await bench.intake.note({ pid: 7, seq: 5, ip: '192.0.2.5', errseen: 0 });
  bench.clock.jumpTo(bench.clock.nowMs() - 86_400_000);
  await bench.intake.note({ pid: 7, seq: 4, ip: '192.0.2.4', errseen: 0 });
  assert.deepEqual(bench.all('SELECT lastconnseq, lastconnip FROM pidb'), [
    { lastconnseq: 5, lastconnip: '192.0.2.5' },
  ]);
});

test('a set found unreadable after its beginning is closed with what came of it, and a full set is wanted', async () => {
  bench.close();
  bench = new Bench({ sliceUrls: 1 });
  bench.provider(7);
  const head = bench.head(7, 3);
  const intake = await bench.intake.begin('u1', head);
  intake.urls([url('a'), url('b')]);
  intake.cut();
  bench.intake.damaged('u1', head.entry, 7);
  assert.equal(bench.value('SELECT fullsetwanted FROM pidb'), 'cache crash');
  assert.equal(bench.store.queue.sets().length, 1);
  assert.equal(waiting().length, 2);
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
    assert.deepEqual(bench.all('SELECT code FROM pierr'), []);
  } finally {
    bench.close();
  }
});

test('while a full set removes what it did not name, results and sets of others go in between', async () => {
  bench.close();
  bench = new Bench({ sliceUrls: 2 });
  bench.provider(7);
  bench.provider(8);
  const old = Array.from({ length: 20 }, (_, i) => url(`old${i}`));
  await bench.send(7, old);
  for (const { curl } of old) bench.fetch(7, curl);
  await bench.send(8, [url('a')]);
  const intake = await bench.intake.begin('u1', bench.head(7, 1, { set: 'full' }));
  intake.urls([url('new')]);
  const ended = intake.end();
  const left: number[] = [];
  for (let n = 0; n < 5; n++) {
    await new Promise<void>(resolve => setImmediate(resolve));
    if (n === 1) assert.equal(bench.fetch(8, 'a'), 'done');
    else await bench.send(8, [url(`b${n}`)]);
    left.push(Number(bench.value('SELECT count(*) FROM lccurl WHERE pid = 7')));
  }
  assert.ok(
    left.some(rows => rows > 0 && rows < 20),
    String(left),
  );
  assert.deepEqual(await ended, { queued: 1, duplicate: 0, unchanged: 0, deleted: 20 });
  assert.deepEqual(heldUrls(), [absolute('a')]);
});

/** Sets of one url each that end in the same turn of the event loop. */
async function sendTogether(pids: readonly number[]): Promise<unknown[]> {
  const intakes = await Promise.all(
    pids.map(pid => bench.intake.begin(`u${pid}`, bench.head(pid, 1, { entry: `of-${pid}` }))),
  );
  for (const intake of intakes) intake.urls([url('a')]);
  return Promise.all(intakes.map(intake => intake.end()));
}
const PIDS = [9, 7, 8];

test('small sets that end together share a commit, and each is a set of its own', async () => {
  for (const pid of [8, 9]) bench.provider(pid);
  let commits = 0;
  const transaction = bench.store.transaction.bind(bench.store);
  bench.store.transaction = change => {
    commits++;
    return transaction(change);
  };
  const answers = await sendTogether(PIDS);
  assert.equal(commits, 1);
  assert.deepEqual(
    answers,
    PIDS.map(() => ({ queued: 1, duplicate: 0, unchanged: 0, deleted: 0 })),
  );
  const sets = bench.all('SELECT pid, uns, entry, complete FROM absorbed ORDER BY psetid');
  assert.deepEqual(
    sets,
    PIDS.map(pid => ({ pid, uns: `u${pid}`, entry: `of-${pid}`, complete: 1 })),
  );
  assert.deepEqual(
    bench.sets.map(set => set.pid),
    PIDS,
  );
  assert.equal(bench.value('SELECT min(nurlproc) FROM pidb'), 1);
});

test('of sets that share a commit that fails nothing stays, and each is taken when it comes again', async () => {
  for (const pid of [8, 9]) bench.provider(pid);
  bench.db.exec(`CREATE TEMP TRIGGER no_room BEFORE INSERT ON qpsdb WHEN new.pid = 8
                 BEGIN SELECT RAISE(ABORT, 'no room'); END`);
  const intakes = await Promise.all(
    PIDS.map(pid => bench.intake.begin('u1', bench.head(pid, 1, { entry: `of-${pid}` }))),
  );
  for (const intake of intakes) intake.urls([url('a')]);
  const ends = await Promise.allSettled(intakes.map(intake => intake.end()));
  assert.deepEqual(
    ends.map(end => end.status),
    PIDS.map(() => 'rejected'),
  );
  assert.equal(bench.value('SELECT count(*) FROM absorbed'), 0);
  assert.equal(bench.value('SELECT count(*) FROM qdb'), 0);
  assert.deepEqual(bench.sets, []);
  bench.db.exec('DROP TRIGGER no_room');
  const answers = await sendTogether(PIDS);
  assert.deepEqual(
    answers,
    PIDS.map(() => ({ queued: 1, duplicate: 0, unchanged: 0, deleted: 0 })),
  );
  assert.equal(bench.value('SELECT total(nurlproc) FROM pidb'), 3);
});

test('a set that cannot even begin does not hold up the next one of its provider', async () => {
  const { absorb } = bench.store;
  const find = absorb.find.bind(absorb);
  absorb.find = () => {
    throw new Error('disk I/O error');
  };
  await assert.rejects(bench.intake.begin('u1', bench.head(7, 1)), /disk I\/O error/);
  absorb.find = find;
  assert.equal(bench.intake.open, 0);
  assert.deepEqual(await bench.send(7, [url('a')]), { queued: 1, duplicate: 0, unchanged: 0, deleted: 0 });
});
