import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { ProviderOrder, type OrderedSet, type RowSource } from '../../../src/qm/schedule/order.js';

interface Row {
  pos: number;
  psetid: number;
  tries: number;
}

/** Rows in an array instead of a table. */
class Rows implements RowSource<OrderedSet, Row> {
  rows: Row[] = [];
  next(set: OrderedSet, afterPos: number, limit: number) {
    return this.rows
      .filter(r => r.psetid === set.psetid && r.pos > afterPos && r.tries === 0)
      .slice(0, limit);
  }
  at(pos: number) {
    return this.rows.find(r => r.pos === pos);
  }
  leastTries(psetid: number) {
    const tries = this.rows.filter(r => r.psetid === psetid && r.tries > 0).map(r => r.tries);
    return tries.length === 0 ? undefined : Math.min(...tries);
  }
  bad(psetid: number, tries: number, afterPos: number, limit: number) {
    return this.rows
      .filter(r => r.psetid === psetid && r.tries === tries && r.pos > afterPos)
      .slice(0, limit);
  }
  count(set: OrderedSet, afterPos: number, most: number) {
    return this.next(set, afterPos, most).length;
  }
  hasRows(set: OrderedSet) {
    return this.rows.some(r => r.psetid === set.psetid);
  }
}

let rows: Rows;
let order: ProviderOrder<OrderedSet, Row>;
const sets: Record<number, OrderedSet> = {};
beforeEach(() => {
  rows = new Rows();
  order = new ProviderOrder(rows);
});

function add(psetid: number, positions: number[]): OrderedSet {
  for (const pos of positions) rows.rows.push({ pos, psetid, tries: 0 });
  const set = { psetid, slot: -1, firstpos: positions[0] ?? 0, lastpos: positions.at(-1) ?? 0 };
  sets[psetid] = set;
  order.add(set);
  return set;
}
const take = (limit: number, nowMs = 0) => order.take(limit, nowMs).map(t => t.row.pos);
function done(set: OrderedSet, pos: number) {
  rows.rows = rows.rows.filter(r => r.pos !== pos);
  order.done(set, pos);
}
function bad(set: OrderedSet, pos: number, dueMs: number) {
  const row = rows.at(pos);
  assert.ok(row);
  row.tries++;
  order.bad(set, pos, row.tries, dueMs);
}

test('urls come in the order of sets and of places, whatever the portions', () => {
  add(1, [1, 2, 3]);
  add(2, [10, 11]);
  assert.deepEqual([take(2), take(2), take(2)], [[1, 2], [3, 10], [11]]);
  assert.deepEqual(take(2), []);
});

test('a set is read when its last place has been taken, without a look behind it', () => {
  const [first, second] = [add(1, [1, 2, 3]), add(2, [10])];
  const read = () => [first, second].map(set => order.isRead(set));
  assert.deepEqual(read(), [false, false]);
  take(2);
  assert.deepEqual(read(), [false, false]);
  take(1);
  assert.deepEqual(read(), [true, false]);
  take(1);
  assert.deepEqual(read(), [true, true]);
});

test('what is to be fetched again comes first, in its place', () => {
  const first = add(1, [1, 2, 3, 4]);
  add(2, [10]);
  take(3);
  order.again(first, 3);
  order.again(first, 1);
  assert.deepEqual(take(10), [1, 3, 4, 10]);
  order.again(first, 2);
  assert.deepEqual(take(10), [2]);
});

test('bad urls come at the end of their set when they are due; later sets do not wait for them', () => {
  const first = add(1, [1, 2, 3]);
  add(2, [10]);
  assert.deepEqual(take(1), [1]);
  bad(first, 1, 100);
  assert.deepEqual(take(10, 50), [2, 3, 10]);
  assert.deepEqual(take(10, 99), []);
  done(first, 2);
  done(first, 3);
  assert.deepEqual([order.finished(), order.nextDueMs()], [[], 100]);
  assert.deepEqual(take(10, 100), [1]);
  bad(first, 1, 300);
  assert.deepEqual([take(10, 299), take(10, 300)], [[], [1]]);
});

test('bad urls with fewer tries come first, and none is taken twice', () => {
  const set = add(1, [1, 2, 3]);
  take(3);
  bad(set, 1, 0);
  bad(set, 2, 0);
  bad(set, 3, 0);
  assert.deepEqual(take(1), [1]);
  bad(set, 1, 0);
  assert.deepEqual(take(10), [2, 3]);
  assert.deepEqual(take(10), []);
});

test('a set is finished when its last row is gone, not before', () => {
  const set = add(1, [1, 2]);
  take(10);
  take(10);
  done(set, 1);
  assert.deepEqual(order.finished(), []);
  bad(set, 2, 0);
  assert.deepEqual(order.finished(), []);
  take(1);
  done(set, 2);
  assert.deepEqual(order.finished(), [set]);
  assert.equal(order.sets, 0);
});

test('after a restart bad urls of a set read to its end are due at once', () => {
  add(1, [1, 2]);
  const row = rows.at(1);
  assert.ok(row);
  row.tries = 2;
  assert.deepEqual(take(10), [2, 1]);
});

test('a set that comes back is read behind those before it that nobody has touched, and before those behind', () => {
  add(1, [10]);
  add(3, [30]);
  rows.rows.push({ pos: 20, psetid: 2, tries: 0 });
  order.join({ psetid: 2, slot: -1, firstpos: 20, lastpos: 20 }, [20]);
  assert.deepEqual(take(5), [10, 20, 30]);
});

/** Sets of one url each, and how often that has failed. */
function oneUrlSets(
  count: number,
  tries = new Map<number, number>(),
): ProviderOrder<OrderedSet, { pos: number }> {
  const many = new ProviderOrder<OrderedSet, { pos: number }>({
    next: (set, afterPos) => (afterPos < set.lastpos && !tries.has(set.psetid) ? [{ pos: set.lastpos }] : []),
    at: pos => ({ pos }),
    leastTries: psetid => tries.get(psetid),
    bad: psetid => [{ pos: psetid }],
    count: () => 1,
    hasRows: () => true,
  });
  for (let pos = 1; pos <= count; pos++) many.add({ psetid: pos, slot: -1, firstpos: pos, lastpos: pos });
  return many;
}

test('a hundred thousand sets whose url failed make it no slower to take and finish others', () => {
  const tries = new Map<number, number>();
  const many = oneUrlSets(100_064, tries);
  for (let taken = many.take(1000, 0); taken.length === 1000; taken = many.take(1000, 0)) {
    for (const { set, row } of taken) {
      tries.set(set.psetid, 1);
      many.bad(set, row.pos, 1, 5000 + row.pos);
    }
    assert.deepEqual(many.finished(), []);
  }
  const startedMs = performance.now();
  for (let i = 0; i < 1000; i++) {
    many.take(1, 0);
    many.finished();
    many.nextDueMs();
  }
  // One of each took 40 ms when all of them were looked at.
  assert.ok(performance.now() - startedMs < 2000);
  assert.deepEqual(
    many.take(3, 5003).map(({ row }) => row.pos),
    [1, 2, 3],
  );
});

test('a hundred thousand sets that wait make it no slower to put urls of the first back', () => {
  const many = oneUrlSets(100_000);
  const taken = many.take(64, 0);
  const startedMs = performance.now();
  for (const { set, row } of taken) many.again(set, row.pos);
  // It took 9.5 s when all of them were put in order each time.
  assert.ok(performance.now() - startedMs < 500);
  assert.deepEqual(
    many.take(64, 0).map(({ row }) => row.pos),
    taken.map(({ row }) => row.pos),
  );
});

test('when what failed was removed meanwhile, what is behind is not taken in its place', () => {
  const set = add(1, [1, 2, 3]);
  take(3);
  done(set, 1);
  order.behind(set, 2);
  bad(set, 3, 1000);
  assert.deepEqual(take(3), []);
  rows.rows = rows.rows.filter(row => row.pos !== 3);
  assert.deepEqual(take(3, 2000), []);
  assert.deepEqual(
    order.takeBehind(3).map(({ row }) => row.pos),
    [2],
  );
  assert.deepEqual([take(3, 2000), order.takeBehind(3)], [[], []]);
});
