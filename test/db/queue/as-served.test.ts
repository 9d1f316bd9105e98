/** Urls announced as served: a set does not say their type, one row has that which came. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import type { FetchOk } from '../../../src/wire/fetch.js';
import { AS_SERVED, type UrlRecord } from '../../../src/wire/url.js';
import { absolute, Bench, failure, md5Of, ok, unchanged, url } from '../../qm/support.js';

let bench: Bench;
beforeEach(() => {
  bench = new Bench({ retries: 2, errorsKept: 3 });
  bench.provider(7);
});
afterEach(() => bench.close());

const served = (curl: string, more: Partial<UrlRecord> = {}) => url(curl, { mimetype: AS_SERVED, ...more });
const rows = () =>
  bench.all('SELECT curl, mimetype, served, md5 FROM lccurl ORDER BY curl, mimetype').map(row => ({
    ...row,
    curl: String(row['curl']).replace('http://127.0.0.1/', ''),
  }));
const row = (curl: string, mimetype: string, content: string, isServed = 1) => ({
  curl,
  mimetype,
  served: isServed,
  md5: md5Of(content),
});
const seq = () => Number(bench.value("SELECT value FROM counter WHERE name = 'seq'"));
const graves = () => bench.all('SELECT mimetype, seq FROM tombstone ORDER BY seq');
const freed = () => bench.all<{ fileid: string }>('SELECT fileid FROM freed ORDER BY fid').map(r => r.fileid);
const use = () =>
  bench.all('SELECT filesused AS files, spaceused AS space, nurlproc AS waiting FROM pidb')[0];

function arrives(curl: string, content: string, mimetype?: string, more: Partial<FetchOk> = {}): void {
  const type = mimetype === undefined ? {} : { mimetype };
  assert.equal(bench.fetch(7, curl, content, { ...type, ...more }, AS_SERVED), 'done');
}

async function holds(
  curl: string,
  content: string,
  mimetype?: string,
  more: Partial<FetchOk> = {},
): Promise<void> {
  await bench.send(7, [served(curl)]);
  arrives(curl, content, mimetype, more);
}

test('the row has the type that was served, and is found again as served', async () => {
  await holds('a', 'pdf', 'application/pdf', { finalUrl: 'http://127.0.0.1/b', robots: 'nofollow' });
  await holds('none', 'x');
  for (const [curl, type] of [
    ['odd', 'text/h"tml'],
    ['stars', '*/*'],
    ['long', `text/${'x'.repeat(300)}`],
  ] as const)
    await holds(curl, 'x', type);
  assert.deepEqual(rows(), [
    row('a', 'application/pdf', 'pdf'),
    ...['long', 'none', 'odd', 'stars'].map(curl => row(curl, 'application/octet-stream', 'x')),
  ]);
  assert.deepEqual(bench.all('SELECT finalurl, robots, hops FROM lccurl WHERE md5 = ?', md5Of('pdf')), [
    { finalurl: 'http://127.0.0.1/b', robots: 'nofollow', hops: null },
  ]);
  assert.equal(bench.store.content.find(7, absolute('a'), AS_SERVED)?.mimetype, 'application/pdf');
  assert.deepEqual(use(), { files: 5, space: 7, waiting: 0 });
});

test('what is announced as served is compared with the row that was served', async () => {
  await bench.send(7, [served('a', { mtime: '2026-11-20T10:13:01Z' })]);
  arrives('a', 'x', 'text/html');
  assert.deepEqual(await bench.send(7, [served('a', { mtime: '2026-11-20T10:13:01Z' })]), {
    queued: 0,
    duplicate: 0,
    unchanged: 1,
    deleted: 0,
  });
  assert.equal(bench.value('SELECT served FROM lccurl'), 1);
  await bench.send(7, [served('a', { mtime: '2026-11-21T00:00:00Z' })]);
  const before = seq();
  arrives('a', 'x', 'text/html', { fileId: 'again' });
  assert.deepEqual([rows(), seq(), freed()], [[row('a', 'text/html', 'x')], before, ['again']]);
  // What is newly said is what the next set is compared with.
  assert.equal(bench.value('SELECT mtime FROM lccurl'), '2026-11-21T00:00:00Z');
});

test('the same bytes once more take no number of the change sequence, as does a 304', async () => {
  await holds('a', 'x', 'text/html');
  const before = seq();
  await holds('a', 'x', 'text/html', { fileId: 'again', robots: 'noindex' });
  await bench.send(7, [served('a')]);
  const waiting = bench.row(7, 'a', AS_SERVED);
  assert.ok(waiting);
  assert.equal(bench.answer(waiting, unchanged, true), 'done');
  assert.deepEqual([rows(), seq(), freed()], [[row('a', 'text/html', 'x')], before, ['again']]);
  assert.equal(bench.value('SELECT robots FROM lccurl'), 'noindex');
});

test('another type takes the place of the one before: a tombstone and a new row in one transaction', async () => {
  await holds('a', 'one', 'text/html', { fileId: 'f1' });
  await holds('a', 'two!', 'application/pdf', { fileId: 'f2' });
  assert.deepEqual(rows(), [row('a', 'application/pdf', 'two!')]);
  assert.deepEqual([graves(), freed(), seq()], [[{ mimetype: 'text/html', seq: 2 }], ['f1'], 3]);
  assert.deepEqual(use(), { files: 1, space: 4, waiting: 0 });
});

test('at the limit of files another type is no further one; over that of space the one before stays', async () => {
  bench.db.exec('UPDATE pidb SET filesmax = 1, spacemax = 6');
  await holds('a', 'one', 'text/html');
  await holds('a', 'two!', 'application/pdf');
  assert.deepEqual(rows(), [row('a', 'application/pdf', 'two!')]);
  await holds('a', 'too long', 'text/plain');
  assert.deepEqual(rows(), [row('a', 'application/pdf', 'two!')]);
  assert.deepEqual(bench.all('SELECT code FROM pierr ORDER BY errseq'), [{ code: 203 }]);
});

test('deleted as served, the row goes that was served, and no other of the page', async () => {
  await bench.send(7, [url('a')]);
  bench.fetch(7, 'a', 'said');
  await holds('a', 'pdf', 'application/pdf');
  assert.equal(rows().length, 2);
  await bench.send(7, [served('a', { op: 'delete' })]);
  assert.deepEqual(rows(), [row('a', 'text/html', 'said', 0)]);
});

test('a full set that names pages as served keeps the rows that were served, whether or not they are fetched again', async () => {
  const said = { mtime: '2026-11-20T10:13:01Z' };
  for (const curl of ['a', 'b', 'c']) {
    await bench.send(7, [served(curl, said)]);
    arrives(curl, 'x', 'text/html');
  }
  await bench.send(7, [url('d')]);
  bench.fetch(7, 'd');
  await bench.send(7, [served('waits')]);
  await bench.send(7, [served('a', said), served('b', { mtime: '2026-11-21T00:00:00Z' })], { set: 'full' });
  assert.deepEqual(rows(), [row('a', 'text/html', 'x'), row('b', 'text/html', 'x')]);
  assert.equal(bench.row(7, 'waits', AS_SERVED), undefined);
  arrives('b', 'new', 'application/pdf');
  assert.deepEqual(rows(), [row('a', 'text/html', 'x'), row('b', 'application/pdf', 'new')]);
});

test('if absent, any row of the page is enough; for a type only one of that type', async () => {
  await bench.send(7, [url('a')]);
  bench.fetch(7, 'a', 'said');
  const counts = await bench.send(7, [served('a', { ifabsent: 'yes' }), served('b', { ifabsent: 'yes' })]);
  assert.deepEqual(counts, { queued: 1, duplicate: 0, unchanged: 1, deleted: 0 });
  await holds('c', 'pdf', 'application/pdf');
  assert.deepEqual(await bench.send(7, [url('c', { ifabsent: 'yes' })]), {
    queued: 1,
    duplicate: 0,
    unchanged: 0,
    deleted: 0,
  });
});

test('the owner takes the row over by naming its type: with the same content, and with other', async () => {
  await holds('a', 'x', 'text/html');
  await holds('b', 'x', 'text/html');
  const before = seq();
  await bench.send(7, [url('a', { md5: md5Of('x') }), url('b')]);
  assert.deepEqual(rows()[0], row('a', 'text/html', 'x', 0));
  assert.equal(seq(), before);
  bench.fetch(7, 'b', 'new', { mimetype: 'text/html' });
  assert.deepEqual(rows(), [row('a', 'text/html', 'x', 0), row('b', 'text/html', 'new', 0)]);
  await bench.send(7, [served('a', { op: 'delete' })]);
  assert.equal(rows().length, 2);
});

test('announced both ways at a time it is one row, in whatever order the two come', async () => {
  for (const [curl, first] of [
    ['a', AS_SERVED],
    ['b', 'text/html'],
  ] as const) {
    await bench.send(7, [served(curl), url(curl)]);
    const flying = ['text/html', AS_SERVED].map(type => bench.row(7, curl, type));
    if (first === AS_SERVED) flying.reverse();
    for (const [index, one] of flying.entries()) {
      assert.ok(one);
      const result = ok('x', { mimetype: 'text/html', fileId: `${curl}${index}` });
      assert.equal(bench.answer(one, result), 'done');
    }
  }
  assert.deepEqual(rows(), [row('a', 'text/html', 'x', 0), row('b', 'text/html', 'x', 1)]);
  assert.deepEqual(freed(), ['a1', 'b1']);
  assert.deepEqual(use(), { files: 2, space: 2, waiting: 0 });
});

test('what is gone for good takes the row that was served with it, and its owner is told', async () => {
  await holds('a', 'x', 'text/html');
  await bench.send(7, [served('a')]);
  const waiting = bench.row(7, 'a', AS_SERVED);
  assert.ok(waiting);
  assert.equal(bench.answer(waiting, failure(303, 'real')), 'done');
  assert.deepEqual(rows(), []);
  assert.deepEqual(bench.all('SELECT code, attrs FROM pierr'), [
    { code: 303, attrs: ' curl="http://127.0.0.1/a" mimetype="*/*"' },
  ]);
});

test('content that is lost is fetched again as served', async () => {
  await holds('a', 'x', 'text/html');
  const spoilt = bench.all('SELECT * FROM lccurl') as never[];
  bench.store.transaction(() =>
    bench.store.refetch.again(
      spoilt.map(one => ({ row: one, file: 'freed' as const })),
      1,
    ),
  );
  assert.deepEqual(rows(), []);
  arrives('a', 'y', 'application/pdf');
  assert.deepEqual(rows(), [row('a', 'application/pdf', 'y')]);
});
