import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { SHARD_NUMBERS } from '../../../src/config/shards.js';
import { rowWindows } from '../../../src/cu/windows.js';
import { CacheReader } from '../../../src/db/cache/read.js';
import { lastGiven, raiseCounters } from '../../../src/db/sqlite/counters.js';
import { openOrSalvage } from '../../../src/db/sqlite/salvage.js';
import { suspectDatabase } from '../../../src/db/sqlite/suspicion.js';
import { silentLog } from '../../../src/lib/log.js';
import { keyOf } from '../../../src/qm/schedule/progress.js';
import { rankOf } from '../../../src/wire/origin.js';
import { Bench, setsOf, url } from '../../qm/support.js';
import { spoil } from '../../support/damage.js';

/** The highest there may be. */
const SHARD = 899;
const BEFORE = SHARD * SHARD_NUMBERS;

let bench: Bench;
beforeEach(() => {
  bench = new Bench();
  bench.provider(7);
  raiseCounters(bench.db, SHARD);
  bench.reopen();
});
afterEach(() => bench.close());

const numbers = () => ['seq', 'pos', 'psetid'].map(name => lastGiven(bench.db, name as 'seq') - BEFORE);

test('numbers of shard N begin at N × 2^40, and are exact up to the last shard', async () => {
  assert.deepEqual(numbers(), [0, 0, 0]);
  await bench.send(7, [url('a'), url('b')]);
  bench.fetch(7, 'b');
  assert.deepEqual(numbers(), [1, 2, 1]);
  assert.equal(bench.value('SELECT id FROM lccurl'), BEFORE + 1);
  assert.equal(bench.value('SELECT pos FROM qdb'), BEFORE + 1);
  assert.equal(String(BEFORE + SHARD_NUMBERS - 1).length, 15);
  assert.deepEqual(raiseCounters(bench.db, SHARD), []);
});

test('a start looks at the range of its own shard: rows that came from elsewhere raise nothing', async () => {
  await bench.send(7, [url('a')]);
  bench.fetch(7, 'a');
  // A provider that moved here brought the ids of its rows along.
  for (const id of [5, SHARD_NUMBERS * 900]) bench.db.exec(`UPDATE lccurl SET id = ${id}`);
  assert.deepEqual(raiseCounters(bench.db, SHARD), []);
  bench.db.exec("UPDATE counter SET value = 0 WHERE name <> 'purged'");
  assert.deepEqual(raiseCounters(bench.db, SHARD).toSorted(), ['pos', 'psetid', 'seq']);
  assert.deepEqual(numbers(), [1, 1, 1]);
});

test('a new home takes any shard, one that has given out numbers keeps its own', async () => {
  raiseCounters(bench.db, 3);
  assert.equal(lastGiven(bench.db, 'seq'), 3 * SHARD_NUMBERS);
  raiseCounters(bench.db, SHARD);
  await bench.send(7, [url('a')]);
  assert.throws(() => raiseCounters(bench.db, 3), {
    code: 'config',
    message: /those of shard 899; a home keeps its shard/,
  });
  assert.deepEqual(numbers(), [0, 1, 1]);
});

test('sets are taken in their order, those of a lower class first', async () => {
  for (const name of ['a', 'b', 'c']) await bench.send(7, [url(name)]);
  await bench.send(7, [url('s')], { origin: 'links' });
  await bench.send(7, [url('p')], { origin: 'push' });
  const sets = setsOf(bench.store.queue);
  const names = (after: number, limit = 10) =>
    bench.store.queue
      .sets(7, after, limit)
      .map(set => bench.store.queue.next(set, set.firstpos - 1, 9)[0]?.curl.at(-1));
  assert.deepEqual(names(0), ['a', 'b', 'c', 'p', 's']);
  const [, second] = sets;
  assert.ok(second);
  assert.deepEqual(names(rankOf(second)), ['c', 'p', 's']);
  assert.equal(bench.store.queue.countSets(7, rankOf(second), 10), 3);
  // Neighbours must not become one in the arithmetic of a double.
  assert.equal(new Set(sets.flatMap(set => [keyOf(set), keyOf({ ...set, slot: 168 })])).size, 10);
});

test('reading from the beginning begins with the first number of the shard', async () => {
  await bench.send(7, [url('a'), url('b')]);
  bench.fetch(7, 'a');
  bench.fetch(7, 'b');
  const reader = new CacheReader(bench.path, 'm1');
  try {
    const selection = { sides: ['held'] } as const;
    const range = { since: 0, to: reader.highWater, limit: Infinity, began: 0 };
    // Windows of numbers that nobody was given would be looked at for years.
    const found = [...rowWindows(reader, selection, range, ['curl'])].flatMap(({ items }) => items);
    assert.deepEqual(
      found.map(([seq]) => Number(seq) - BEFORE),
      [1, 2],
    );
    assert.equal(reader.startOf({ sinceSeq: BEFORE + 1 }), BEFORE + 1);
  } finally {
    reader.close();
  }
});

test('a database that is replaced after damage goes on in its shard', async () => {
  await bench.send(7, [url('a')]);
  bench.fetch(7, 'a');
  bench.db.close();
  spoil(bench.path, "DELETE FROM counter WHERE name <> 'purged'; UPDATE lccurl SET len = 0.5");
  suspectDatabase(bench.path);
  openOrSalvage(bench.path, 0, silentLog, { shard: SHARD }).close();
  bench.reopen();
  assert.equal(bench.value('SELECT count(*) FROM lccurl'), 0, 'it was replaced');
  assert.deepEqual(raiseCounters(bench.db, SHARD), []);
  assert.ok(numbers().every(number => number >= 0));
});
