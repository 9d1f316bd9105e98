import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Held } from '../../src/db/cache/content.js';
import { damagedDeletions } from '../../src/db/damage.js';
import {
  checkWaiting,
  CONTENT_SUM_TEXT,
  errorSum,
  isSoundContent,
  isSoundError,
  isSoundText,
} from '../../src/db/sums.js';
import type { QueueRow } from '../../src/db/queue/row.js';
import { Bench, ok, unchanged, url } from '../qm/support.js';

const ALL = {
  subtype: 'type:x',
  burl: 'http://127.0.0.1/seen',
  furl: 'http://127.0.0.1/raw',
  md5: 'f'.repeat(32),
  len: '99',
  mtime: '2026-11-20T10:13:01Z',
  tod: '0-7',
  ifabsent: 'yes',
} as const;

let bench: Bench;
before(async () => {
  bench = new Bench();
  bench.provider(7);
  await bench.send(7, [url('plain'), url('all', ALL), url('known')]);
  bench.fetch(7, 'known', 'x', {
    etag: '"e"',
    lastModified: 'Fri, 20 Nov 2026 10:13:01 GMT',
    verified: false,
  });
});
after(() => bench.close());

const waiting = (curl: string): QueueRow => {
  const row = bench.row(7, curl);
  assert.ok(row);
  return row;
};
const held = (): Held & { pid: number } => {
  const [row] = bench.all<Held & { pid: number }>("SELECT * FROM lccurl WHERE curl LIKE '%known'");
  assert.ok(row);
  return row;
};

/** The row with one bit of one column flipped, for every bit of every column. */
function* flips<T extends object>(row: T, columns: readonly (keyof T & string)[]): Generator<[string, T]> {
  for (const column of columns) {
    const value = row[column];
    if (typeof value === 'number') {
      for (let bit = 1; bit < 2 ** 31; bit *= 2) yield [column, { ...row, [column]: value ^ bit }];
    } else if (typeof value === 'string') {
      const bytes = Buffer.from(value, 'latin1');
      for (let bit = 0; bit < bytes.length * 8; bit++) {
        const flipped = Buffer.from(bytes);
        flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        yield [column, { ...row, [column]: flipped.toString('latin1') }];
      }
    }
  }
}

test('a row of the queue agrees with its sum, and with one bit flipped in any column that matters it does not', () => {
  for (const row of [waiting('plain'), waiting('all')]) {
    assert.notEqual(checkWaiting(row), undefined);
    const columns = [
      'pid',
      'curl',
      'mimetype',
      'subtype',
      'burl',
      'furl',
      'md5',
      'len',
      'mtime',
      'tod',
      'flags',
    ] as const;
    for (const [column, flipped] of flips(row, [...columns, 'op', 'sum']))
      assert.equal(checkWaiting(flipped), undefined, column);
    for (const column of ['subtype', 'burl', 'furl', 'md5', 'len', 'mtime', 'tod'] as const)
      if (row[column] !== null) assert.equal(checkWaiting({ ...row, [column]: null }), undefined, column);
  }
});

test('a row of the LCC DB agrees with its sum, and with one bit flipped in any column content users see it does not', () => {
  const row = held();
  assert.ok(isSoundContent(row.pid, row));
  const columns = [
    'id',
    'seq',
    'curl',
    'mimetype',
    'md5',
    'len',
    'mtime',
    'etag',
    'lastmodified',
    'verified',
    'fetched_time',
    'fetched_machineid',
    'fetched_fileid',
    'sum',
  ] as const;
  for (const [column, flipped] of flips(row, columns)) assert.ok(!isSoundContent(row.pid, flipped), column);
  assert.ok(!isSoundContent(row.pid + 1, row));
});

test('an error agrees with its sum, and with a text that damage has made a blob it does not', () => {
  const text = { errseq: 5, pid: 7, code: 404, text: 'Not Found', attrs: ' curl="x"' };
  const row = { ...text, sum: errorSum(text) };
  for (const sound of [row, { ...row, sum: null }]) {
    assert.ok(isSoundError(sound));
    for (const column of ['text', 'attrs'] as const)
      assert.ok(!isSoundError({ ...sound, [column]: Buffer.from(sound[column]) }), column);
  }
  for (const [column, flipped] of flips(row, ['errseq', 'pid', 'code', 'text', 'attrs', 'sum']))
    assert.ok(!isSoundError(flipped), column);
});

test('sums stay right through every change of a row', async () => {
  const all = () => bench.all<QueueRow>('SELECT *, coalesce(named, psetid) AS named FROM qdb');
  await bench.send(7, [url('plain', { op: 'delete' }), url('known', { subtype: 'a:b', len: '1' })]);
  assert.equal(waiting('plain').op, 0);
  assert.notEqual(checkWaiting(waiting('plain')), undefined, 'deleted while it waits');
  assert.ok(isSoundContent(7, held()), 'described anew');
  await bench.send(7, [url('plain', { burl: '' }), url('known')]);
  assert.notEqual(checkWaiting(waiting('plain')), undefined, 'submitted again');
  const row = bench.row(7, 'known');
  assert.ok(row);
  bench.answer(row, { ...unchanged, etag: '"f"' }, true);
  assert.equal(held().etag, '"f"');
  assert.ok(isSoundContent(7, held()), 'confirmed');
  await bench.send(7, [url('known')]);
  bench.fetch(7, 'known', 'other');
  assert.ok(isSoundContent(7, held()), 'replaced');
  bench.fetch(7, 'all', 'all', { etag: '"a"', lastModified: 'Fri, 20 Nov 2026 10:13:01 GMT' });
  const rows = bench.all<Held>('SELECT * FROM lccurl');
  assert.ok(rows.length >= 2);
  for (const each of rows) assert.ok(isSoundContent(7, each), each.curl);
  assert.ok(all().length > 0);
});

test('SQL puts together the same text', () => {
  for (const row of bench.all<{ text: string; sum: number }>(
    `SELECT ${CONTENT_SUM_TEXT} AS text, sum FROM lccurl`,
  )) {
    assert.ok(row.sum !== null && isSoundText(row.text, row.sum));
    assert.ok(!isSoundText(row.text, row.sum ^ 1));
  }
});

/** The columns of lccurl that are texts. */
const TEXTS =
  'curl mimetype subtype burl givenfurl md5 mtime saidmd5 etag lastmodified fetched_machineid fetched_fileid';

test('a row of the LCC DB with a text that damage has made a blob does not agree with its sum, nor is it believed without one', () => {
  for (const column of TEXTS.split(' ')) {
    for (const sum of ['sum', 'NULL']) {
      bench.db.exec(`SAVEPOINT s; UPDATE lccurl SET ${column} = CAST(${column} AS BLOB), sum = ${sum}`);
      const rows = bench.all<Held & { pid: number; text: string }>(
        `SELECT *, ${CONTENT_SUM_TEXT} AS text FROM lccurl WHERE typeof(${column}) = 'blob'`,
      );
      assert.ok(rows.length > 0, column);
      for (const row of rows) {
        assert.ok(!isSoundContent(row.pid, row), `${column}, sum ${row.sum}`);
        assert.ok(!isSoundText(row.text, row.sum), `${column}, sum ${row.sum}, by SQL`);
      }
      bench.db.exec('ROLLBACK TO s; RELEASE s');
    }
  }
});

test('a row damaged between sending and storing is stored as one that does not agree with its sum', async () => {
  await bench.send(7, [url('late')]);
  const row = bench.row(7, 'late');
  assert.ok(row);
  bench.db.prepare("UPDATE qdb SET burl = 'http://127.0.0.1/wrong' WHERE pos = ?").run(row.pos);
  bench.answer(row, ok('y'));
  const [stored] = bench.all<Held>("SELECT * FROM lccurl WHERE curl LIKE '%late'");
  assert.ok(stored && !isSoundContent(7, stored));
});

test('a damaged row of the queue is never handed out; it is let go of, and its provider asked for a full set', async () => {
  bench.db.exec('DELETE FROM qdb; UPDATE pidb SET nurlproc = 0, fullsetwanted = NULL; DELETE FROM qpsdb');
  await bench.send(7, [url('sound'), url('hurt')]);
  bench.db.exec(
    "UPDATE qdb SET len = 7 WHERE curl LIKE '%hurt'; UPDATE qdb SET pid = 6 WHERE curl LIKE '%hurt'",
  );
  const set = bench.sets.at(-1);
  assert.ok(set);
  const rows = bench.store.queue.next(set, set.firstpos - 1, 10);
  assert.deepEqual(
    rows.map(({ curl, op, pid, urlSum }) => [curl, op, pid, urlSum === undefined]),
    [
      ['http://127.0.0.1/sound', 1, 7, false],
      ['http://127.0.0.1/hurt', 0, 7, true],
    ],
  );
  const hurt = rows[1];
  assert.ok(hurt);
  const { mtime, md5, len, urlSum, pos, gen, pid } = hurt;
  const sent = { pos, gen, pid, mtime, md5, len, urlSum, conditional: false, held: false };
  assert.equal(
    bench.store.transaction(() => bench.store.results.apply(sent, undefined, 0)),
    'done',
  );
  assert.deepEqual(bench.all('SELECT nurlproc, fullsetwanted FROM pidb'), [
    { nurlproc: 1, fullsetwanted: 'cache crash' },
  ]);
  assert.deepEqual(bench.damage, [`7: row ${pos} of the queue`]);
});

test('damaged content is not believed: it is gone when it is met, counted out, and fetched again', async () => {
  bench.db.exec('UPDATE pidb SET fullsetwanted = NULL');
  bench.db.exec("UPDATE lccurl SET len = len + 1000 WHERE curl LIKE '%all'");
  const before = bench.value('SELECT count(*) FROM freed');
  const damage = bench.damage.length;
  assert.deepEqual(await bench.send(7, [url('all', { ...ALL, ifabsent: 'no' })]), {
    queued: 1,
    duplicate: 0,
    unchanged: 0,
    deleted: 0,
  });
  assert.equal(bench.damage.length, damage + 1);
  assert.equal(bench.value("SELECT count(*) FROM lccurl WHERE curl LIKE '%all'"), 0);
  assert.equal(bench.value("SELECT count(*) FROM tombstone WHERE curl LIKE '%all'"), 1);
  assert.equal(bench.value('SELECT count(*) FROM freed'), before, 'whose file it named is not known');
  assert.deepEqual(bench.all('SELECT filesused, spaceused, fullsetwanted FROM pidb'), [
    {
      filesused: bench.value('SELECT count(*) FROM lccurl'),
      spaceused: bench.value('SELECT total(len) FROM lccurl'),
      fullsetwanted: 'cache crash',
    },
  ]);
});

test('of a row with a text that damage has made a blob content users are told that it is gone, in a text', () => {
  bench.db.exec("UPDATE lccurl SET mimetype = CAST(mimetype AS BLOB) WHERE curl LIKE '%known'");
  const found = [...bench.store.content.damaged()].flat();
  bench.store.transaction(() => found.forEach(({ id }) => bench.store.content.discard(id)));
  assert.deepEqual([...damagedDeletions(bench.db)].flat(), []);
  assert.deepEqual(bench.all("SELECT mimetype, burl FROM tombstone WHERE curl LIKE '%known' AND moved = 0"), [
    { mimetype: 'text/html', burl: null },
  ]);
});
