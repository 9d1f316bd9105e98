import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { raiseCounters } from '../../../src/db/sqlite/counters.js';
import { disagreement, rebuildSets } from '../../../src/db/queue/sets-from-urls.js';
import { Bench, url, setsOf } from '../../qm/support.js';

let bench: Bench;
beforeEach(async () => {
  bench = new Bench({ sliceUrls: 2 });
  bench.provider(7);
  bench.provider(8);
  await bench.send(7, [url('a'), url('b'), url('c')]);
  await bench.send(8, [url('d'), url('e')]);
  await bench.send(7, [url('f'), url('a')]);
  bench.fetch(7, 'b');
  bench.db.exec('UPDATE qpsdb SET absorbedat = 1795000000 + psetid');
});
afterEach(() => bench.close());

const sets = () => bench.all('SELECT * FROM qpsdb ORDER BY psetid, starttimeslot');
const order = () =>
  bench.sets.flatMap(set => bench.store.queue.next(set, set.firstpos - 1, 100).map(row => row.curl));
const rebuild = () => bench.db.transaction(() => rebuildSets(bench.db))();

test('a queue as it is in order agrees with its sets', () => {
  assert.equal(disagreement(bench.db), undefined);
});

test('sets found again from the urls alone are fetched in the same order, and keep their age', () => {
  const before = order();
  const ages = bench.all('SELECT psetid, pid, absorbedat FROM qpsdb ORDER BY psetid');
  assert.equal(rebuild(), 3);
  assert.deepEqual(bench.all('SELECT psetid, pid, absorbedat FROM qpsdb ORDER BY psetid'), ages);
  bench.sets = setsOf(bench.store.queue);
  assert.deepEqual(order(), before);
  assert.equal(disagreement(bench.db), undefined);
  bench.db.exec('DELETE FROM qpsdb');
  rebuild();
  // Neither unknown nor of 1970: what is told about the age of the queue is no false alarm.
  assert.equal(bench.value('SELECT count(*) FROM qpsdb WHERE abs(absorbedat - unixepoch()) > 600'), 0);
  bench.sets = setsOf(bench.store.queue);
  assert.deepEqual(order(), before);
});

test('a set cut off in the middle is not visible, before or after', async () => {
  const intake = await bench.intake.begin('u1', bench.head(7, 5));
  intake.urls([url('x'), url('y'), url('z')]);
  intake.cut();
  assert.equal(bench.value("SELECT count(*) FROM qdb WHERE curl LIKE '%/x'"), 1);
  assert.equal(disagreement(bench.db), undefined);
  const before = sets().length;
  rebuild();
  assert.equal(sets().length, before);
  bench.db.exec(
    'INSERT INTO qpsdb SELECT psetid, -1, pid, firstpos, lastpos, 0, 0 FROM absorbed WHERE complete = 0',
  );
  assert.match(disagreement(bench.db) ?? '', /is not complete/);
});

test('parts of a set for time slots are told from the urls too', () => {
  bench.db.exec(
    "UPDATE queued SET slot = 5 WHERE name LIKE '%/c'; UPDATE queued SET slot = 6 WHERE name LIKE '%/e'",
  );
  assert.match(disagreement(bench.db) ?? '', /wait for slot 5, which the set does not list/);
  rebuild();
  assert.equal(disagreement(bench.db), undefined);
  assert.deepEqual(
    sets().map(s => [s['psetid'], s['starttimeslot']]),
    [
      [1, -1],
      [1, 5],
      [2, -1],
      [2, 6],
      [3, -1],
    ],
  );
});

for (const [what, sql, found] of [
  ['missing', 'DELETE FROM qpsdb WHERE psetid = 2', /the url at 4 is of no set/],
  ['missing at the end', 'DELETE FROM qpsdb WHERE psetid = 3', /the url at 6 is of no set/],
  ['too short', 'UPDATE qpsdb SET lastpos = firstpos WHERE psetid = 1', /the url at 3 is of no set/],
  ['overlapping', 'UPDATE qpsdb SET lastpos = 4 WHERE psetid = 1', /set 2 begins within set 1/],
  ['backwards', 'UPDATE qpsdb SET lastpos = -7 WHERE psetid = 1', /ends before it begins/],
  [
    'of another provider',
    'UPDATE qpsdb SET pid = 9 WHERE psetid = 2',
    /provider 9 holds a url of provider 8/,
  ],
  ['under another number', 'UPDATE qpsdb SET psetid = 99 WHERE psetid = 2', /hold a url of set 2/],
] as const) {
  test(`a set ${what} is noticed at the start, and told anew`, () => {
    const before = sets().map(({ psetid, pid }) => ({ psetid, pid }));
    bench.db.exec(sql);
    assert.match(disagreement(bench.db) ?? '', found);
    rebuild();
    assert.equal(disagreement(bench.db), undefined);
    assert.deepEqual(
      sets().map(({ psetid, pid }) => ({ psetid, pid })),
      before,
    );
  });
}

test('an empty entry is no disagreement: the scheduler finds it empty', () => {
  bench.fetch(8, 'd');
  bench.fetch(8, 'e');
  assert.equal(disagreement(bench.db), undefined);
});

test('counters behind what was given out are raised, others stay', () => {
  const counters = () =>
    Object.fromEntries(bench.db.prepare('SELECT name, value FROM counter').raw().all() as [string, number][]);
  const before = counters();
  assert.deepEqual(raiseCounters(bench.db), []);
  bench.db.exec(
    "UPDATE counter SET value = 0 WHERE name <> 'psetid'; DELETE FROM counter WHERE name = 'psetid'",
  );
  assert.deepEqual(raiseCounters(bench.db).toSorted(), ['pos', 'psetid', 'seq']);
  assert.deepEqual(counters(), before);
});

for (const [table, counter, sql] of [
  ['tombstone', 'seq', "INSERT INTO tombstone VALUES (900, 1, 7, 'x', 'a/b', NULL, 1, 0)"],
  ['oldpath', 'seq', "INSERT INTO oldpath VALUES (900, 7, 'a/b', 'm', 'f', 1)"],
  ['store', 'seq', "INSERT INTO store(machineid, storeid, syncedseq) VALUES ('m', 's', 900)"],
  ['absorbed', 'pos', 'UPDATE absorbed SET lastpos = 900 WHERE psetid = 1'],
  ['qpsdb', 'psetid', 'UPDATE qpsdb SET psetid = 900 WHERE psetid = 1'],
] as const) {
  test(`what ${table} says was given out is not given out again`, () => {
    bench.db.exec(sql);
    assert.deepEqual(raiseCounters(bench.db), [counter]);
    assert.equal(bench.value('SELECT value FROM counter WHERE name = ?', counter), 900);
  });
}
