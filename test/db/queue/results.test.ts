import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { absolute, Bench, failure, md5Of, ok, unchanged, url } from '../../qm/support.js';

let bench: Bench;
beforeEach(() => {
  bench = new Bench({ retries: 2, errorsKept: 3 });
  bench.provider(7);
});
afterEach(() => bench.close());

function rowOf(curl: string) {
  const row = bench.row(7, curl);
  assert.ok(row, `${curl} waits`);
  return row;
}
const held = () => bench.all('SELECT md5, fetched_fileid AS file FROM lccurl ORDER BY curl');
const freed = () => bench.all<{ fileid: string }>('SELECT fileid FROM freed ORDER BY fid').map(r => r.fileid);
const seq = () => Number(bench.value("SELECT value FROM counter WHERE name = 'seq'"));
const use = () =>
  bench.all(
    'SELECT filesused AS files, spaceused AS space, nurlproc AS waiting, nurlerrs AS errors FROM pidb',
  )[0];

async function holds(curl: string, content = 'x', more = {}): Promise<void> {
  await bench.send(7, [url(curl)]);
  assert.equal(bench.fetch(7, curl, content, more), 'done');
}

test('content makes a row whose id is the number of its creation; new content replaces it and frees the old file', async () => {
  await holds('a', 'one', { fileId: 'f-one' });
  assert.deepEqual(bench.all('SELECT id, seq, fetched_fileid AS file FROM lccurl'), [
    { id: 1, seq: 1, file: 'f-one' },
  ]);
  await holds('a', 'two!', { fileId: 'f-two' });
  assert.deepEqual(bench.all('SELECT id, seq, md5, len, fetched_fileid AS file FROM lccurl'), [
    { id: 1, seq: 2, md5: md5Of('two!'), len: 4, file: 'f-two' },
  ]);
  assert.deepEqual(freed(), ['f-one']);
  assert.deepEqual(use(), { files: 1, space: 4, waiting: 0, errors: 0 });
});

test('the change sequence has no gap over stored, replaced, refreshed and deleted rows', async () => {
  await holds('a');
  await holds('b');
  await holds('a', 'y');
  await bench.send(7, [url('b', { len: '1', subtype: 'x:y' })]);
  await bench.send(7, [url('a', { op: 'delete' })]);
  const numbers = bench.all<{ seq: number }>(
    'SELECT seq FROM lccurl UNION SELECT seq FROM tombstone ORDER BY seq',
  );
  assert.deepEqual(
    numbers.map(r => r.seq),
    [4, 5],
  );
  assert.equal(seq(), 5);
});

test('what was served in the second of its change has a time, and is asked for without it', async () => {
  const modifiedNow = 'Fri, 20 Nov 2026 10:13:01 GMT';
  await holds('a', 'x', { modifiedNow });
  const times = () => bench.all('SELECT mtime, lastmodified FROM lccurl');
  assert.deepEqual(times(), [{ mtime: '2026-11-20T10:13:01Z', lastmodified: null }]);
  await holds('a', 'y', { lastModified: modifiedNow });
  assert.deepEqual(times(), [{ mtime: '2026-11-20T10:13:01Z', lastmodified: modifiedNow }]);
});

test("the documents' query finds what was fetched", async () => {
  await bench.send(7, [url('a', { furl: 'raw/a' }), url('b')]);
  bench.fetch(7, 'a');
  bench.fetch(7, 'b');
  assert.deepEqual(
    bench.all('select furl, mimetype from lccurl where fetched_time > 0').map(r => r['furl']),
    [absolute('raw/a'), absolute('b')],
  );
});

test('a result is applied at most once', async () => {
  await bench.send(7, [url('a')]);
  const row = rowOf('a');
  assert.equal(bench.answer(row, ok('x', { fileId: 'first' })), 'done');
  assert.equal(bench.answer(row, ok('x', { fileId: 'again' })), 'done');
  assert.deepEqual(
    held().map(r => r['file']),
    ['first'],
  );
  assert.deepEqual(freed(), ['again']);
  assert.equal(use()?.['waiting'], 0);
});

test('an update that arrives during the fetch causes another fetch', async () => {
  await bench.send(7, [url('a')]);
  const flying = rowOf('a');
  await bench.send(7, [url('a', { len: '3' })]);
  assert.equal(bench.answer(flying, ok('old', { fileId: 'old' })), 'again');
  assert.deepEqual([held(), freed()], [[], ['old']]);
  assert.equal(bench.answer(rowOf('a'), ok('new')), 'done');
  assert.equal(held()[0]?.['md5'], md5Of('new'));
});

test('a delete that arrives during the fetch wins', async () => {
  await holds('a');
  await bench.send(7, [url('a', { len: '7' })]);
  const flying = rowOf('a');
  await bench.send(7, [url('a', { op: 'delete' })]);
  assert.equal(bench.answer(flying, ok('late', { fileId: 'late' })), 'done');
  assert.deepEqual(held(), []);
  assert.equal(bench.row(7, 'a'), undefined);
  assert.ok(freed().includes('late'));
});

test('the same bytes take no number, as a 304 or as 200, whatever the CP newly says of them; that is kept', async () => {
  await holds('a', 'x', { etag: '"1"' });
  const before = seq();
  const changed = bench.value('SELECT changed_time FROM lccurl');
  const times = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z', '2026-01-03T00:00:00Z'] as const;
  await bench.send(7, [url('a', { mtime: times[0] })]);
  assert.equal(bench.answer(rowOf('a'), ok('x', { fileId: 'again' })), 'done');
  await bench.send(7, [url('a', { mtime: times[1], md5: md5Of('x') })]);
  assert.equal(bench.answer(rowOf('a'), unchanged, true), 'done');
  await bench.send(7, [url('a', { mtime: times[2], md5: md5Of('never served'), len: '5' })]);
  assert.equal(bench.answer(rowOf('a'), ok('x', { fileId: 'once more' })), 'done');
  assert.deepEqual(bench.all('SELECT seq, mtime, changed_time AS changed FROM lccurl'), [
    { seq: before, mtime: times[2], changed },
  ]);
  assert.equal(seq(), before);
  assert.deepEqual(freed(), ['again', 'once more']);
});

test('what only its owner says of a row takes a number, with a fetch and without: subtype, browse URL, fetch URL', async () => {
  const md5 = md5Of('x');
  await holds('a');
  let last = seq();
  const takes = (numbers: number) => {
    assert.equal(seq(), last + numbers);
    assert.equal(bench.value('SELECT seq FROM lccurl'), seq());
    last = seq();
  };
  await bench.send(7, [url('a', { md5, subtype: 'a:b;' })]);
  takes(1);
  await bench.send(7, [url('a', { md5, subtype: 'a:b;', furl: 'raw' })]);
  takes(1);
  // That the page is gone under its former browse URL is another.
  await bench.send(7, [url('a', { md5, subtype: 'a:b;', furl: 'raw', burl: 'shown' })]);
  takes(2);
  await bench.send(7, [url('a', { subtype: 'c:d;' })]);
  assert.equal(bench.answer(rowOf('a'), ok('x')), 'done');
  takes(2);
});

test('a 304 leaves the row as it is and takes no number; another browse URL does', async () => {
  await holds('a', 'x', { etag: '"1"' });
  const before = seq();
  await bench.send(7, [url('a')]);
  assert.equal(bench.answer(rowOf('a'), { ...unchanged, etag: '"2"' }, true), 'done');
  assert.equal(seq(), before);
  assert.deepEqual(bench.all('SELECT etag, md5 FROM lccurl'), [{ etag: '"2"', md5: md5Of('x') }]);
  await bench.send(7, [url('a', { burl: '' })]);
  assert.equal(bench.answer(rowOf('a'), unchanged, true), 'done');
  // One that the URL it was shown under is gone, and one of the row.
  assert.equal(seq(), before + 2);
  assert.deepEqual(bench.all('SELECT burl, seq FROM lccurl'), [{ burl: '', seq: before + 2 }]);
  assert.deepEqual(bench.all('SELECT burl, seq, moved FROM tombstone'), [
    { burl: null, seq: before + 1, moved: 1 },
  ]);
});

test('a 304 that was not asked for is an error, not content', async () => {
  await bench.send(7, [url('a')]);
  assert.equal(bench.answer(rowOf('a'), unchanged, false), 'bad');
  assert.deepEqual(held(), []);
});

test('a real error is recorded with all that the CP said, and the content goes', async () => {
  await holds('a');
  const said = {
    subtype: 'a:b&c',
    burl: '',
    furl: 'raw',
    md5: md5Of('y'),
    len: '3',
    mtime: '2026-01-01T00:00:00Z',
    tod: '0-7',
    ifabsent: 'no',
  };
  await bench.send(7, [url('a', said)]);
  assert.equal(bench.answer(rowOf('a'), failure(404, 'real')), 'done');
  assert.deepEqual(held(), []);
  assert.equal(bench.value('SELECT count(*) FROM tombstone'), 1);
  assert.deepEqual(bench.all('SELECT code, text, attrs FROM pierr'), [
    {
      code: 404,
      text: 'error 404',
      attrs: ` curl="${absolute('a')}" mimetype="text/html" subtype="a:b&amp;c" burl="" furl="${absolute('raw')}" md5="${said.md5}" len="3" mtime="${said.mtime}" tod="0-7"`,
    },
  ]);
  assert.deepEqual(use(), { files: 0, space: 0, waiting: 0, errors: 1 });
});

test('a failure for now is tried again as often as configured, then real', async () => {
  await bench.send(7, [url('a')]);
  assert.equal(bench.answer(rowOf('a'), failure(503, 'url')), 'bad');
  assert.equal(bench.answer(rowOf('a'), failure(503, 'url')), 'bad');
  assert.equal(rowOf('a').tries, 2);
  assert.deepEqual(
    [rowOf('a').tries, 1].map(tries => bench.store.results.retries.isLast(tries)),
    [true, false],
  );
  assert.equal(bench.answer(rowOf('a'), failure(503, 'url')), 'done');
  assert.equal(bench.value('SELECT count(*) FROM pierr'), 1);
});

test('a site that does not answer costs its urls nothing', async () => {
  await holds('a');
  await bench.send(7, [url('a')]);
  for (let i = 0; i < 5; i++) assert.equal(bench.answer(rowOf('a'), failure(601, 'provider')), 'site');
  assert.deepEqual([rowOf('a').tries, held().length, use()?.['errors']], [0, 1, 0]);
});

test('a new submission of a bad url gets its tries again, at the end of its set', async () => {
  await bench.send(7, [url('a')]);
  bench.answer(rowOf('a'), failure(503, 'url'));
  bench.answer(rowOf('a'), failure(503, 'url'));
  await bench.send(7, [url('a')]);
  assert.equal(rowOf('a').tries, 1);
});

test('so many errors are kept, and all counted', async () => {
  await bench.send(
    7,
    ['a', 'b', 'c', 'd', 'e'].map(name => url(name)),
  );
  for (const name of ['a', 'b', 'c', 'd', 'e']) bench.answer(rowOf(name), failure(404, 'real'));
  assert.equal(bench.value('SELECT count(*) FROM pierr'), 3);
  assert.equal(use()?.['errors'], 5);
  const first = Number(bench.value('SELECT min(errseq) FROM pierr'));
  await bench.intake.note({ pid: 7, seq: 1, ip: '', errseen: first });
  await bench.intake.note({ pid: 7, seq: 1, ip: '', errseen: first });
  assert.equal(use()?.['errors'], 4, 'those that were only counted are still to be told of');
  const last = Number(bench.value('SELECT max(errseq) FROM pierr'));
  await bench.intake.note({ pid: 7, seq: 1, ip: '', errseen: last });
  assert.equal(use()?.['errors'], 0, 'with the last one kept the provider has been told of all');
});

test('a redirect out of the roots is not reported for a url that was to be dropped then', async () => {
  await bench.send(7, [url('a', { outofroot: 'drop' }), url('b')]);
  bench.answer(rowOf('a'), failure(609, 'real'));
  bench.answer(rowOf('b'), failure(609, 'real'));
  assert.deepEqual(
    bench.all<{ attrs: string }>('SELECT attrs FROM pierr').map(r => r.attrs.includes('/b"')),
    [true],
  );
});

test('over quota at arrival: the error, the earlier content stays, the new file goes', async () => {
  bench.db.prepare('UPDATE pidb SET filesmax = 1, spacemax = 10').run();
  await holds('a', '12345', { fileId: 'kept' });
  await bench.send(7, [url('a')]);
  assert.equal(bench.answer(rowOf('a'), ok('12345678901', { fileId: 'big' })), 'done');
  bench.db.prepare('UPDATE pidb SET filesmax = 2').run();
  await bench.send(7, [url('b')]);
  bench.db.prepare('UPDATE pidb SET filesmax = 1').run();
  assert.equal(bench.answer(rowOf('b'), ok('1', { fileId: 'second' })), 'done');
  assert.deepEqual(
    held().map(r => r['file']),
    ['kept'],
  );
  assert.deepEqual(freed(), ['big', 'second']);
  assert.deepEqual(
    bench.all('SELECT code FROM pierr ORDER BY errseq').map(r => r['code']),
    [203, 202],
  );
});

test('content that shrinks is taken even where the quota is exceeded already', async () => {
  await holds('a', '1234567890');
  bench.db.prepare('UPDATE pidb SET spacemax = 5').run();
  await bench.send(7, [url('a', { md5: md5Of('123456789') })]);
  assert.equal(bench.fetch(7, 'a', '123456789'), 'done');
  assert.equal(use()?.['space'], 9);
});

test('tombstones are forgotten in order, and the highest forgotten is remembered', async () => {
  for (const name of ['a', 'b', 'c']) {
    await holds(name);
    await bench.send(7, [url(name, { op: 'delete' })]);
    bench.clock.advance(10_000);
  }
  const beforeS = Math.floor(bench.clock.nowMs() / 1000) - 15;
  assert.ok(bench.store.deletions.hasOld(beforeS));
  assert.equal(
    bench.store.transaction(() => bench.store.deletions.forget(beforeS, 1000)),
    2,
  );
  assert.equal(bench.value('SELECT count(*) FROM tombstone'), 1);
  assert.equal(bench.value("SELECT value FROM counter WHERE name = 'purged'"), 4);
});

test('a row made of the queue alone is the same as one made step by step', async () => {
  bench.provider(8);
  const content = ok('content', {
    etag: '"e"',
    lastModified: 'Fri, 20 Nov 2026 10:13:01 GMT',
    completeness: 'unverified',
  });
  const urls = [
    url('plain'),
    url('all', { subtype: 'x:y', burl: '', furl: 'raw', tod: '0-7', md5: 'f'.repeat(32), len: '99' }),
    url('agrees', {
      md5: content.md5,
      len: String(content.len),
      mtime: '2026-01-01T00:00:00Z',
      ifabsent: 'yes',
    }),
    url('other', { burl: 'seen', mtime: '1767225600' }),
  ];
  for (const pid of [7, 8]) {
    await bench.send(pid, urls);
    await bench.send(pid, [url('plain', { len: '5' })]);
    for (const { curl } of urls) {
      const row = bench.row(pid, curl);
      assert.ok(row);
      assert.equal(bench.answer({ ...row, held: pid === 8 }, content), 'done');
    }
  }
  const rows = (pid: number) => bench.all('SELECT * FROM lccurl WHERE pid = ? ORDER BY id', pid);
  const numbersOff = (row: Record<string, unknown>, by: number) => ({
    ...row,
    pid: 0,
    // It covers the numbers and the provider.
    id: Number(row['id']) - by,
    seq: Number(row['seq']) - by,
    psetid: Number(row['psetid']) - by / 2,
  });
  assert.deepEqual(
    rows(8).map(row => numbersOff(row, 4)),
    rows(7).map(row => numbersOff(row, 0)),
  );
  assert.equal(rows(7).length, 4);
  assert.equal(seq(), 8);
});
