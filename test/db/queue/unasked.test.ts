/** Sets that nobody announced, as they are absorbed: they change nothing of what their owner said. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { disagreement } from '../../../src/db/queue/sets-from-urls.js';
import type { SetOrigin } from '../../../src/wire/origin.js';
import { AS_SERVED, type UrlRecord } from '../../../src/wire/url.js';
import { absolute, Bench, failure, md5Of, ok, unchanged, url } from '../../qm/support.js';

let bench: Bench;
beforeEach(() => {
  bench = new Bench({ retries: 1, errorsKept: 3 });
  bench.provider(7, { spider: 1 });
});
afterEach(() => {
  assert.equal(disagreement(bench.db), undefined);
  const { waiting, rows } = bench.all<{ waiting: number; rows: number }>(
    'SELECT nurlproc AS waiting, (SELECT count(*) FROM qdb) AS rows FROM pidb',
  )[0] ?? { waiting: -1, rows: 0 };
  assert.equal(waiting, rows);
  bench.close();
});

const link = (curl: string, more: Partial<UrlRecord> = {}) =>
  url(curl, { mimetype: AS_SERVED, ifabsent: 'yes', outofroot: 'drop', hops: '3', ...more });
const unasked = (urls: readonly UrlRecord[], origin: SetOrigin = 'links') => bench.send(7, urls, { origin });
interface Waiting {
  curl: string;
  psetid: number;
  flags: number;
  hops: number | null;
  op: number;
}
const queue = () =>
  bench.all<Waiting>(
    "SELECT replace(curl, 'http://127.0.0.1/', '') AS curl, mimetype, psetid, flags, hops, op FROM qdb ORDER BY pos",
  );
const counts = (queued: number, duplicate: number, same: number) => ({
  queued,
  duplicate,
  unchanged: same,
  deleted: 0,
});
const classes = () =>
  bench.all('SELECT psetid, class FROM qpsdb ORDER BY psetid').map(row => Object.values(row));
const arrives = (curl: string, content = 'x', mimetype = 'text/html') =>
  assert.equal(bench.fetch(7, curl, content, { mimetype }, AS_SERVED), 'done');
const held = () =>
  bench.all(
    "SELECT replace(curl, 'http://127.0.0.1/', '') AS curl, mimetype, served, hops FROM lccurl ORDER BY curl",
  );

test('links wait in a set of their class, with their hops, and are held as such', async () => {
  assert.deepEqual(await unasked([link('a'), link('b'), link('a')]), counts(2, 1, 0));
  await unasked([link('c', { hops: '0' })], 'scan');
  await unasked([link('d')], 'audit');
  assert.deepEqual(classes(), [
    [1, 2],
    [2, 3],
    [3, 4],
  ]);
  assert.deepEqual(queue()[0], { curl: 'a', mimetype: AS_SERVED, psetid: 1, flags: 7, hops: 3, op: 1 });
  arrives('a');
  assert.deepEqual(held(), [{ curl: 'a', mimetype: 'text/html', served: 1, hops: 3 }]);
});

test('what is held in whatever type, waits, or is known not to be had is not queued', async () => {
  await bench.send(7, [url('a'), url('w', { mimetype: AS_SERVED, len: '3' }), url('h')]);
  bench.fetch(7, 'a');
  bench.db.exec(`INSERT INTO known(pid, curl, code, asked, until) VALUES
    (7, '${absolute('k')}', 404, 0, ${Math.floor(bench.clock.nowMs() / 1000) + 86_400}), (7, '${absolute('past')}', 404, 0, 1)`);
  const before = queue();
  assert.deepEqual(await unasked(['a', 'w', 'h', 'k', 'past'].map(name => link(name))), counts(1, 1, 3));
  assert.deepEqual(queue().slice(0, 2), before);
  assert.equal(queue()[2]?.curl, 'past');
});

test('the word of its owner ends what is known; so does content', async () => {
  bench.db.exec(`INSERT INTO known(pid, curl, code, asked, until) VALUES
    (7, '${absolute('a')}', 404, 0, ${Math.floor(bench.clock.nowMs() / 1000) + 86_400}), (7, '${absolute('b')}', 404, 0, 1)`);
  await bench.send(7, [url('a')]);
  await unasked([link('b')]);
  arrives('b');
  assert.deepEqual(bench.all('SELECT * FROM known'), []);
});

test('a link that waits and is announced is its owner’s, at its place, with its words alone', async () => {
  await unasked([link('a'), link('b'), link('c')]);
  const flying = bench.row(7, 'b', AS_SERVED);
  const said = { mimetype: AS_SERVED, len: '1' };
  assert.deepEqual(
    await bench.send(7, [
      url('x'),
      url('b', said),
      url('b', { ...said, len: '2' }),
      url('a', { ...said, md5: md5Of('a') }),
    ]),
    counts(3, 1, 0),
  );
  assert.deepEqual(
    bench.all('SELECT len, md5 FROM qdb WHERE psetid = 2 AND hops IS NULL ORDER BY pos').slice(1),
    [
      { len: 2, md5: null },
      { len: 1, md5: md5Of('a') },
    ],
  );
  assert.deepEqual(
    queue().map(({ curl, psetid, flags, hops }) => [curl, psetid, flags, hops]),
    [
      ['c', 1, 7, 3],
      ['x', 2, 0, null],
      ['b', 2, 0, null],
      ['a', 2, 0, null],
    ],
  );
  // What comes for the link is not believed any more: its owner's word causes another fetch.
  assert.ok(flying);
  assert.equal(bench.answer(flying, ok('x', { mimetype: 'text/html', fileId: 'early' })), 'done');
  assert.deepEqual(held(), []);
  assert.deepEqual(bench.all('SELECT fileid FROM freed'), [{ fileid: 'early' }]);
  arrives('b');
  assert.deepEqual(held(), [{ curl: 'b', mimetype: 'text/html', served: 1, hops: null }]);
});

test('a link that waits, is announced and is deleted in the same set counts once among what waits', async () => {
  await unasked([link('a'), link('b')]);
  const said = { mimetype: AS_SERVED };
  await bench.send(7, [url('a', said), url('a', { ...said, op: 'delete' }), url('b', said), url('b', said)]);
  assert.equal(bench.value('SELECT nurlproc FROM pidb'), 2);
});

test('what waits for its owner stays as it is, whatever links say of it', async () => {
  await bench.send(7, [url('a', { mimetype: AS_SERVED, len: '1', tod: '3' })]);
  const before = bench.all('SELECT * FROM qdb');
  assert.deepEqual(await unasked([link('a'), link('a', { ifabsent: 'no' })]), counts(0, 2, 0));
  await unasked([link('a', { ifabsent: 'no' })], 'scan');
  assert.deepEqual(bench.all('SELECT * FROM qdb'), before);
});

test('a link to what its owner deleted while it waited is a link, in its own set', async () => {
  await bench.send(7, [url('a', { mimetype: AS_SERVED })]);
  await bench.send(7, [url('a', { mimetype: AS_SERVED, op: 'delete' })]);
  assert.deepEqual(await unasked([link('a')]), counts(1, 0, 0));
  assert.deepEqual(
    queue().map(({ psetid, flags, op }) => [psetid, flags, op]),
    [[3, 7, 1]],
  );
});

test('a full set of the owner leaves what was crawled, held and waiting', async () => {
  await bench.send(7, [url('own'), url('gone')]);
  bench.fetch(7, 'own');
  bench.fetch(7, 'gone');
  await unasked([link('held'), link('waits')]);
  arrives('held');
  const counted = await bench.send(7, [url('own', { len: '1' })], { set: 'full' });
  assert.deepEqual(counted, { ...counts(0, 0, 1), deleted: 1 });
  assert.deepEqual(
    held().map(row => row['curl']),
    ['held', 'own'],
  );
  assert.deepEqual(
    queue().map(({ curl }) => curl),
    ['waits'],
  );
  // Named by its owner once, it is the owner's.
  await bench.send(7, [url('held', { mimetype: AS_SERVED, len: '1' })]);
  await bench.send(7, [url('own', { len: '1' })], { set: 'full' });
  assert.deepEqual(
    held().map(row => row['curl']),
    ['own'],
  );
});

test('a scan looks again at what is held, whosever it is, and at nothing else', async () => {
  await bench.send(7, [url('own')]);
  bench.fetch(7, 'own');
  await unasked([link('crawled')]);
  arrives('crawled');
  const scan = [
    url('own'),
    url('crawled', { mimetype: AS_SERVED }),
    url('never'),
    url('never', { mimetype: AS_SERVED }),
  ];
  const psetids = () => bench.all('SELECT psetid FROM lccurl ORDER BY curl').map(row => row['psetid']);
  assert.deepEqual(psetids(), [2, 1]);
  assert.deepEqual(await unasked(scan, 'scan'), counts(2, 0, 2));
  const own = bench.row(7, 'own');
  assert.ok(own);
  assert.equal(bench.answer(own, unchanged, true), 'done');
  arrives('crawled', 'new', 'application/pdf');
  assert.deepEqual(held(), [
    { curl: 'crawled', mimetype: 'application/pdf', served: 1, hops: 3 },
    { curl: 'own', mimetype: 'text/html', served: 0, hops: null },
  ]);
  // A scan names nothing in its owner's name.
  assert.deepEqual(psetids(), [3, 1]);
  // Deleted while it was asked for: a scan brings nothing back.
  await unasked([url('own')], 'scan');
  const flying = bench.row(7, 'own');
  await bench.send(7, [url('crawled', { mimetype: 'application/pdf' })], { set: 'full' });
  assert.ok(flying);
  assert.equal(bench.answer(flying, ok('late', { fileId: 'late' })), 'done');
  assert.deepEqual(
    held().map(row => row['curl']),
    ['crawled'],
  );
});

test('a scan or an audit leaves what only the owner says: subtype, browse URL, fetch URL', async () => {
  const said = { subtype: 'a:b;', burl: '', furl: 'raw' };
  const rows = () =>
    bench.all("SELECT subtype, burl, replace(givenfurl, 'http://127.0.0.1/', '') AS furl, md5 FROM lccurl");
  await bench.send(7, [url('a', said)]);
  bench.fetch(7, 'a');
  const row = () => {
    const waiting = bench.row(7, 'a');
    assert.ok(waiting);
    return waiting;
  };
  const seq = () =>
    bench.value('SELECT max(seq) FROM (SELECT seq FROM lccurl UNION SELECT seq FROM tombstone)');
  const before = seq();
  await unasked([url('a', { furl: 'raw' })], 'scan');
  assert.equal(bench.answer(row(), unchanged, true), 'done');
  await unasked([url('a')], 'audit');
  assert.equal(bench.answer(row(), ok('x')), 'done');
  assert.deepEqual([rows(), seq()], [[{ ...said, md5: md5Of('x') }], before]);
  await unasked([url('a')], 'audit');
  assert.equal(bench.answer(row(), ok('new')), 'done');
  assert.deepEqual(rows(), [{ ...said, md5: md5Of('new') }]);
  assert.deepEqual(bench.all('SELECT * FROM tombstone'), []);
});

test('a scan of a type that is gone brings nothing, and takes nothing of the page in another type', async () => {
  await bench.send(7, [url('a'), url('a', { mimetype: 'text/xml' })]);
  bench.fetch(7, 'a', 'html');
  assert.equal(bench.fetch(7, 'a', 'xml', {}, 'text/xml'), 'done');
  const left = [{ curl: 'a', mimetype: 'text/html', served: 0, hops: null }];
  for (const result of [failure(410, 'real'), ok('late', { fileId: 'late' })]) {
    await unasked([url('a', { mimetype: 'text/xml' })], 'scan');
    const flying = bench.row(7, 'a', 'text/xml');
    await bench.send(7, [url('a', { len: '4' })], { set: 'full' });
    assert.ok(flying);
    assert.equal(bench.answer(flying, result), 'done');
    assert.deepEqual(held(), left);
    assert.deepEqual(bench.all('SELECT * FROM known'), []);
    if (result.status === 'ok') break;
    await bench.send(7, [url('a', { mimetype: 'text/xml' })]);
    assert.equal(bench.fetch(7, 'a', 'xml', {}, 'text/xml'), 'done');
  }
});

test('a page that was crawled and has moved for good is known: no link to it is asked for again', async () => {
  await unasked([link('a')]);
  arrives('a');
  await unasked([{ ...link('a'), ifabsent: 'no' }], 'scan');
  const again = bench.row(7, 'a', AS_SERVED);
  assert.ok(again);
  const cost = { id: 1, wireBytes: 1, elapsedMs: 1 };
  const moved = { ...cost, status: 'redirect' as const, http: 301, location: absolute('b') };
  assert.equal(bench.answer(again, moved), 'done');
  assert.deepEqual([held(), await unasked([link('a')])], [[], counts(0, 0, 1)]);
});

test('errors of what nobody announced are kept for nobody, and what is held stays', async () => {
  await unasked([link('a'), link('b')]);
  arrives('a');
  await unasked([url('a', { mimetype: AS_SERVED })], 'scan');
  const again = bench.row(7, 'a', AS_SERVED);
  const gone = bench.row(7, 'b', AS_SERVED);
  assert.ok(again && gone);
  assert.equal(bench.answer(again, failure(403, 'real')), 'done');
  assert.equal(bench.answer(gone, failure(404, 'real')), 'done');
  assert.deepEqual(
    [held().length, bench.value('SELECT count(*) FROM pierr'), bench.value('SELECT nurlerrs FROM pidb')],
    [1, 0, 0],
  );
});

test('what there is no room for is left out without a word, and takes no room from its owner', async () => {
  bench.db.exec('UPDATE pidb SET filesmax = 3');
  assert.deepEqual(await unasked(['a', 'b', 'c', 'd', 'e'].map(name => link(name))), counts(3, 0, 2));
  for (const name of ['a', 'b']) arrives(name);
  assert.deepEqual(await bench.send(7, [url('own')]), counts(1, 0, 0));
  bench.fetch(7, 'own');
  // It came too late.
  arrives('c');
  assert.deepEqual([held().length, bench.value('SELECT count(*) FROM pierr')], [3, 0]);
});

test('neither the order of its owner’s sets nor the time since it was heard of is changed by others', async () => {
  await bench.send(7, [url('a')]);
  const before = bench.all('SELECT lastset, lastconnseq, lastconntime, latestpsetid, fullsetsused FROM pidb');
  bench.clock.advance(3_600_000);
  await bench.send(7, [link('b')], { origin: 'links', newest: 0, numbering: '' });
  assert.deepEqual(
    bench.all('SELECT lastset, lastconnseq, lastconntime, latestpsetid, fullsetsused FROM pidb'),
    before,
  );
});

test('sent again after a crash in the middle, a set of links counts once', async () => {
  bench.close();
  bench = new Bench({ sliceUrls: 2 });
  bench.provider(7, { spider: 1 });
  const urls = ['a', 'b', 'c', 'd', 'e'].map(name => link(name));
  const head = bench.head(7, urls.length, { origin: 'links' });
  const cut = await bench.intake.begin('u1', head);
  cut.urls(urls.slice(0, 3));
  bench.reopen();
  for (let time = 0; time < 2; time++) {
    const again = await bench.intake.begin('u1', head);
    again.urls(urls);
    assert.deepEqual(await again.end(), counts(5, 0, 0));
  }
  assert.deepEqual(classes(), [[1, 2]]);
  assert.equal(queue().length, 5);
});

test('nobody is asked for a full set of what was only crawled', async () => {
  bench.provider(8, { spider: 1 });
  await bench.send(8, [link('a')], { origin: 'links' });
  assert.equal(bench.fetch(8, 'a', 'x', { mimetype: 'text/html' }, AS_SERVED), 'done');
  await bench.send(7, [url('own')]);
  bench.fetch(7, 'own');
  const later = Math.floor(bench.clock.nowMs() / 1000) + 1000;
  assert.deepEqual(bench.store.age.silentProviders(later), [7]);
  assert.deepEqual(bench.store.age.oldProviders(0, 1000, { psetid: 1000, fetchedS: later }), [7]);
});
