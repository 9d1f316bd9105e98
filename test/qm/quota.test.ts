import fc from 'fast-check';
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { silentLog } from '../../src/lib/log.js';
import { decidedRemovals } from '../../src/qm/housekeeping/decided-removals.js';
import { Bench, failure, url } from './support.js';

let bench: Bench;
beforeEach(() => begin({}));
afterEach(() => bench.close());

/** Another Queue Manager instead. */
function start(...how: Parameters<typeof begin>): void {
  bench.close();
  begin(...how);
}

function begin(terms: Record<string, number>, options: ConstructorParameters<typeof Bench>[0] = {}): void {
  bench = new Bench(options);
  bench.db.pragma('synchronous = OFF');
  bench.provider(7, terms);
}

const waiting = () =>
  bench.all<{ curl: string }>('SELECT curl FROM qdb ORDER BY pos').map(r => r.curl.slice(17));
const held = () =>
  bench.all<{ curl: string }>('SELECT curl FROM lccurl ORDER BY curl').map(r => r.curl.slice(17));
/** What was refused: `202 name`. */
const refused = () =>
  bench
    .all<{ code: number; attrs: string }>('SELECT code, attrs FROM pierr ORDER BY errseq')
    .map(({ code, attrs }) => `${code} ${/curl="http:\/\/127\.0\.0\.1\/([^"]*)"/.exec(attrs)?.[1]}`);
const sized = (name: string, len: number) => url(name, { len: String(len) });

test('over the number of files new urls are refused with 202, urls that wait or are held are not', async () => {
  start({ filesmax: 3 });
  await bench.send(7, [url('held'), url('a'), url('b')]);
  for (const name of ['held', 'a', 'b']) bench.fetch(7, name);
  const counts = await bench.send(7, [sized('held', 9), sized('held', 8), url('c', { subtype: 'kind:x' })]);
  assert.deepEqual(counts, { queued: 1, duplicate: 1, unchanged: 0, deleted: 0 });
  assert.deepEqual(bench.all('SELECT code, attrs FROM pierr'), [
    { code: 202, attrs: ' curl="http://127.0.0.1/c" mimetype="text/html" subtype="kind:x"' },
  ]);
});

test('over the space urls are refused with 203 as far as announced lengths tell', async () => {
  start({ spacemax: 100 });
  await bench.send(7, [sized('a', 60), sized('a', 60), sized('b', 60), sized('c', 40)]);
  assert.deepEqual([waiting(), refused()], [['a', 'c'], ['203 b']]);
});

test('a full set is measured against the quota alone, not together with what it replaces', async () => {
  start({ filesmax: 2 });
  await bench.send(7, [url('a'), url('b')]);
  for (const name of ['a', 'b']) bench.fetch(7, name);
  await bench.send(7, [url('c'), url('d'), url('e')], { set: 'full' });
  assert.deepEqual([waiting(), refused()], [['c', 'd'], ['202 e']]);
});

test('what waits from earlier sets counts against the number of files', async () => {
  start({ filesmax: 3 });
  await bench.send(7, [url('a'), url('b')]);
  await bench.send(7, [url('a'), url('c'), url('d')]);
  assert.deepEqual([waiting(), refused()], [['a', 'b', 'c'], ['202 d']]);
});

test('what waits from earlier sets counts against the space, as announced; also after a restart', async () => {
  for (const restart of [false, true]) {
    start({ spacemax: 100 });
    await bench.send(7, [sized('a', 40)]);
    await bench.send(7, [sized('b', 40)]);
    if (restart) bench.reopen();
    await bench.send(7, [sized('c', 30), sized('d', 20), url('unknown')]);
    assert.deepEqual([waiting(), refused()], [['a', 'b', 'd', 'unknown'], ['203 c']]);
  }
});

test('what became of earlier sets meanwhile is seen', async () => {
  start({ filesmax: 2, spacemax: 100 });
  await bench.send(7, [sized('a', 50), sized('b', 50)]);
  bench.fetch(7, 'a', 'x');
  const row = bench.row(7, 'b');
  assert.ok(row);
  bench.answer(row, failure(404, 'real'));
  await bench.send(7, [sized('c', 90)]);
  assert.deepEqual([waiting(), refused()], [['c'], ['404 b']]);
});

test('what arrives while a set is taken is not counted twice', async () => {
  start({ filesmax: 4 }, { sliceUrls: 1 });
  await bench.send(7, [url('a'), url('b')]);
  const intake = await bench.intake.begin('u1', bench.head(7, 3));
  intake.urls([url('c')]);
  bench.fetch(7, 'a');
  intake.urls([url('d')]);
  bench.fetch(7, 'b');
  intake.urls([url('e')]);
  await intake.end();
  assert.deepEqual([waiting(), refused()], [['c', 'd'], ['202 e']]);
});

test('deletes of a set make room for its later urls, over slices', async () => {
  start({ filesmax: 2 }, { sliceUrls: 2 });
  await bench.send(7, [url('a'), url('b')]);
  bench.fetch(7, 'a');
  bench.fetch(7, 'b');
  await bench.send(7, [url('x'), url('a', { op: 'delete' }), url('c'), url('d')]);
  assert.deepEqual([waiting(), refused()], [['c'], ['202 x', '202 d']]);
});

test('content that is replaced needs what it grows by', async () => {
  start({ spacemax: 100, filesmax: 1 });
  await bench.send(7, [url('a')]);
  bench.fetch(7, 'a', 'x'.repeat(60));
  await bench.send(7, [sized('a', 101)]);
  assert.deepEqual([waiting(), refused()], [[], ['203 a']]);
  await bench.send(7, [sized('a', 100)]);
  assert.deepEqual(waiting(), ['a']);
});

test('a full set needs what it names, whatever waits', async () => {
  start({ filesmax: 2 });
  await bench.send(7, [url('a'), url('b')]);
  await bench.send(7, [url('c'), url('d')], { set: 'full' });
  assert.deepEqual([waiting(), refused()], [['c', 'd'], []]);
});

test('what a full set names and is held already counts', async () => {
  start({ filesmax: 2, spacemax: 100 });
  await bench.send(7, [url('a'), url('b')]);
  bench.fetch(7, 'a', 'x'.repeat(40));
  bench.fetch(7, 'b', 'x'.repeat(40));
  await bench.send(7, [sized('a', 40), sized('b', 40), sized('c', 1)], { set: 'full' });
  bench.db.prepare('UPDATE pidb SET filesmax = 9').run();
  await bench.send(7, [sized('a', 40), sized('b', 40), sized('d', 21), sized('e', 20)], { set: 'full' });
  assert.deepEqual([waiting(), refused()], [['e'], ['202 c', '203 d']]);
});

for (const set of ['full', 'partial'] as const) {
  test(`a ${set} set that was cut off goes on with the room that its beginning has left`, async () => {
    start({ filesmax: 3, spacemax: 100 }, { sliceUrls: 1 });
    const urls = [sized('a', 40), sized('b', 40), sized('c', 21), sized('d', 20), sized('e', 0)];
    const head = bench.head(7, urls.length, { set });
    const cut = await bench.intake.begin('u1', head);
    cut.urls(urls.slice(0, 2));
    cut.cut();
    bench.reopen();
    const again = await bench.intake.begin('u1', head);
    again.urls(urls);
    await again.end();
    assert.deepEqual(
      [waiting(), refused()],
      [
        ['a', 'b', 'd'],
        ['203 c', '202 e'],
      ],
    );
  });
}

test('what a full set names stays as it is when its new content is refused', async () => {
  start({ spacemax: 100 });
  await bench.send(7, [sized('a', 60), sized('b', 20)]);
  bench.fetch(7, 'a', 'x'.repeat(60));
  bench.fetch(7, 'b', 'x'.repeat(20));
  await bench.send(7, [sized('c', 50), sized('a', 90)], { set: 'full' });
  assert.deepEqual([waiting(), refused(), held()], [['c'], ['203 a'], ['a']]);
});

test('a quota lowered below what is used refuses what is new; what is held stays, and may shrink', async () => {
  await bench.send(7, [url('a'), url('b'), url('c')]);
  for (const name of ['a', 'b', 'c']) bench.fetch(7, name, 'x'.repeat(40));
  bench.db.prepare('UPDATE pidb SET filesmax = 1, spacemax = 50').run();
  await bench.send(7, [url('new'), sized('a', 41), sized('b', 39), url('c')]);
  assert.deepEqual(
    [waiting(), refused()],
    [
      ['b', 'c'],
      ['202 new', '203 a'],
    ],
  );
  bench.fetch(7, 'b', 'x'.repeat(39));
  bench.fetch(7, 'c', 'x'.repeat(41));
  assert.deepEqual(refused(), ['202 new', '203 a', '203 c']);
  assert.deepEqual(bench.all('SELECT filesused, spaceused FROM pidb'), [{ filesused: 3, spaceused: 119 }]);
  assert.deepEqual(held(), ['a', 'b', 'c']);
});

test('with very many urls waiting their sum is not made: content is refused when it arrives', async () => {
  start({ filesmax: 30_000 });
  await bench.send(
    7,
    Array.from({ length: 29_999 }, (_, i) => url(`p${i}`)),
  );
  await bench.send(7, [url('a'), url('b')]);
  assert.deepEqual(refused(), []);
  assert.equal(bench.value('SELECT nurlproc FROM pidb'), 30_001);
});

const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
const command = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('send' as const),
      full: fc.boolean(),
      pid: fc.constantFrom(7, 8),
      urls: fc.array(
        fc.record({
          name,
          op: fc.constantFrom('update', 'update', 'delete'),
          len: fc.option(fc.integer({ min: 0, max: 30 }), { nil: undefined }),
        }),
        { maxLength: 8 },
      ),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('fetch' as const),
      pid: fc.constantFrom(7, 8),
      name,
      len: fc.option(fc.integer({ min: 0, max: 30 }), { nil: undefined }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('release' as const, 'discard' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('expire' as const), upTo: fc.nat(60) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('seen' as const), errseen: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('crash' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('terms' as const), filesmax: fc.nat(6), spacemax: fc.nat(80) }),
  },
);

function decide(what: 'release' | 'discard'): void {
  bench.store.transaction(() => bench.store.held[what]());
  const onCommit = () => undefined;
  const { store, clock } = bench;
  const chore = decidedRemovals({ store, clock, log: silentLog, sliceUrls: 2, onCommit });
  while (store.held.decided() !== undefined) chore.run();
}

test('over any history the counters of the providers are what the tables say', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 5, maxLength: 40 }), async commands => {
      start(
        { filesmax: 5, spacemax: 60 },
        { sliceUrls: 3, fuse: { percent: 50, urls: 1 }, errorsKept: 1000 },
      );
      bench.provider(8, { filesmax: 4 });
      for (const one of commands) {
        switch (one.do) {
          case 'send': {
            const urls = one.urls.map(({ name, op, len }) =>
              url(name, { op, ...(len === undefined ? {} : { len: String(len) }) }),
            );
            await bench.send(one.pid, urls, { set: one.full ? 'full' : 'partial' });
            break;
          }
          case 'fetch': {
            const row = bench.row(one.pid, one.name);
            if (row === undefined) break;
            if (one.len === undefined) bench.answer(row, failure(404, 'real'));
            else bench.fetch(one.pid, one.name, 'x'.repeat(one.len));
            break;
          }
          case 'release':
          case 'discard':
            decide(one.do);
            break;
          case 'expire':
            bench.store.transaction(() =>
              bench.store.age.remove(bench.store.age.old(0, one.upTo, { psetid: 99, fetchedS: 1e12 }, 3), 1),
            );
            break;
          case 'seen':
            await bench.intake.note({ pid: 7, seq: 1, ip: '', errseen: one.errseen });
            break;
          case 'crash':
            bench.reopen();
            bench.db.pragma('synchronous = OFF');
            break;
          case 'terms':
            bench.db.prepare('UPDATE pidb SET filesmax = ?, spacemax = ?').run(one.filesmax, one.spacemax);
        }
        const counted = bench.all(`SELECT pid, filesused, spaceused, nurlproc, nurlerrs FROM pidb`);
        const told = bench.all(`SELECT pid,
          (SELECT count(*) FROM lccurl WHERE lccurl.pid = pidb.pid) AS filesused,
          (SELECT coalesce(sum(len), 0) FROM lccurl WHERE lccurl.pid = pidb.pid) AS spaceused,
          (SELECT count(*) FROM qdb WHERE qdb.pid = pidb.pid) AS nurlproc,
          (SELECT count(*) FROM pierr WHERE pierr.pid = pidb.pid) AS nurlerrs FROM pidb`);
        assert.deepEqual(counted, told);
      }
    }),
    { numRuns: Number(process.env['LCC_MODEL_RUNS'] ?? 60) },
  );
});
