import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { looksAtEntries } from '../../support/looks.js';
import { ProviderOrder, type RowSource } from '../../../src/qm/schedule/url-order.js';
import type { OrderedSet, PlacedRow } from '../../../src/qm/schedule/progress.js';

interface Row {
  pos: number;
  psetid: number;
  tries: number;
}

/** Rows in an array instead of a table. */
class Rows implements RowSource<OrderedSet, Row> {
  rows: Row[] = [];
  stored: OrderedSet[] = [];
  sets(_pid: number, afterPsetid: number, limit: number) {
    return this.stored
      .filter(({ psetid }) => psetid > afterPsetid)
      .sort((a, b) => a.psetid - b.psetid)
      .slice(0, limit);
  }
  countSets(pid: number, afterPsetid: number, most: number) {
    return this.sets(pid, afterPsetid, most).length;
  }
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
beforeEach(() => {
  rows = new Rows();
  order = new ProviderOrder(rows, { pid: 1, untouched: 2, asleep: 2, areStored: false });
});

/** A set of its owner's; where nothing is said, at one place of its own number. */
function setAt(psetid: number, firstpos = psetid, lastpos = firstpos): OrderedSet {
  return { psetid, class: 0, slot: -1, firstpos, lastpos };
}

function add(psetid: number, positions: number[]): OrderedSet {
  for (const pos of positions) rows.rows.push({ pos, psetid, tries: 0 });
  const set = setAt(psetid, positions[0], positions.at(-1));
  rows.stored.push(set);
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
  assert.equal(order.hasSets, false);
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
  const back = setAt(2, 20);
  rows.rows.push({ pos: 20, psetid: 2, tries: 0 });
  rows.stored.push(back);
  order.join(back, [20]);
  assert.deepEqual(take(5), [10, 20, 30]);
});

/** Sets of one url each, and how often that has failed. */
function oneUrlSets(count: number, tries = new Map<number, number>()): ProviderOrder<OrderedSet, PlacedRow> {
  const at = (pos: number): PlacedRow => ({ pos, tries: tries.get(pos) ?? 0 });
  const source: RowSource<OrderedSet, PlacedRow> = {
    sets: (_pid, after, limit) =>
      Array.from({ length: Math.min(limit, count - after) }, (_, i) => setAt(after + 1 + i)),
    countSets: (_pid, after, most) => Math.min(most, count - after),
    next: (set, afterPos) => (afterPos < set.lastpos && !tries.has(set.psetid) ? [at(set.lastpos)] : []),
    at,
    leastTries: psetid => tries.get(psetid),
    bad: psetid => [at(psetid)],
    count: () => 1,
    hasRows: () => true,
  };
  const options = { pid: 1, untouched: 1000, asleep: 1_000_000, areStored: false };
  const many = new ProviderOrder<OrderedSet, PlacedRow>(source, options);
  for (let pos = 1; pos <= count; pos++) many.add(setAt(pos));
  assert.equal(many.setsHere, Math.min(count, 1000));
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
  const looks = looksAtEntries(() => {
    for (let i = 0; i < 100; i++) {
      many.take(1, 0);
      many.finished();
      many.nextDueMs();
    }
  });
  assert.ok(looks < 100_000, `${looks} looks at sets`);
  assert.deepEqual(
    many.take(3, 5003).map(({ row }) => row.pos),
    [1, 2, 3],
  );
});

test('a hundred thousand sets that wait make it no slower to put urls of the first back', () => {
  const many = oneUrlSets(100_000);
  const taken = many.take(64, 0);
  const looks = looksAtEntries(() => {
    for (const { set, row } of taken) many.again(set, row.pos);
  });
  assert.ok(looks < 100_000, `${looks} looks at sets`);
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

test('however many sets wait, few are in memory; they come in their order, each once, also those that come meanwhile', () => {
  for (let psetid = 1; psetid <= 7; psetid++) add(psetid, [10 * psetid]);
  assert.deepEqual([order.setsHere, order.countElsewhere(), order.waiting(100)], [2, 5, 7]);
  assert.deepEqual(take(3), [10, 20, 30]);
  add(8, [80]);
  assert.deepEqual(take(10), [40, 50, 60, 70, 80]);
  assert.equal(order.areAllHere, true);
  add(9, [90]);
  assert.deepEqual([take(10), take(10)], [[90], []]);
});

test('when as many sets sleep as may, no further one is begun until one of them is due; one that is being read goes on', () => {
  const [first, second, third] = [add(1, [1]), add(2, [2]), add(3, [3, 4])];
  add(4, [5]);
  assert.deepEqual(take(3), [1, 2, 3]);
  bad(first, 1, 5000);
  bad(second, 2, 6000);
  order.finished();
  assert.deepEqual(take(9, 1000), [4]);
  done(third, 3);
  done(third, 4);
  order.finished();
  assert.deepEqual(take(9, 2000), []);
  assert.equal(order.hasSets, true);
  assert.deepEqual(take(9, 5000), [1, 5]);
});

test('sets that sleep behind a silent host keep no other from being begun', () => {
  const sets = [add(1, [1]), add(2, [2]), add(3, [3])];
  add(4, [4]);
  take(3);
  for (const [i, set] of sets.entries()) assert.equal(order.behind(set, i + 1), true);
  order.finished();
  assert.deepEqual(take(9), [4]);
});

test('sets that were stored before are found, those that hold nothing any more are finished', () => {
  for (let psetid = 1; psetid <= 5; psetid++) rows.stored.push(setAt(psetid, 10 * psetid));
  rows.rows.push({ pos: 30, psetid: 3, tries: 0 });
  order = new ProviderOrder(rows, { pid: 1, untouched: 2, asleep: 2, areStored: true });
  assert.equal(order.hasSets, true);
  assert.deepEqual([take(9), take(9)], [[30], []]);
  assert.deepEqual(
    order.finished().map(({ psetid }) => psetid),
    [1, 2, 4, 5],
  );
  done(rows.stored[2] ?? assert.fail(), 30);
  assert.deepEqual([order.finished(), order.hasSets], [[rows.stored[2]], false]);
});

test('a set that is finished is not read again while its entry is still there, nor one behind it forgotten', () => {
  const sets = [1, 2, 3, 4, 5].map(psetid => add(psetid, [10 * psetid]));
  const [first] = sets;
  assert.ok(first);
  assert.deepEqual(take(1), [10]);
  done(first, 10);
  take(2);
  assert.deepEqual(order.finished(), [first]);
  assert.deepEqual(take(9), [40, 50]);
  for (const set of sets.slice(1)) done(set, set.firstpos);
  assert.deepEqual([take(9), order.finished(), order.hasSets], [[], sets.slice(1), false]);
});

test('rows that come back into a set that is only stored are taken in its turn, into one that is done at once', () => {
  const sets = [1, 2, 3, 4, 5].map(psetid => add(psetid, [10 * psetid]));
  const [first, , , , last] = sets;
  assert.ok(first && last);
  take(1);
  done(first, 10);
  take(1);
  order.finished();
  for (const [set, pos] of [
    [last, 51],
    [first, 11],
  ] as const) {
    rows.rows.push({ pos, psetid: set.psetid, tries: 0 });
    set.lastpos = pos;
    order.join(set, [pos]);
  }
  rows.rows.sort((a, b) => a.pos - b.pos);
  assert.deepEqual(take(9), [11, 30, 40, 50, 51]);
});

test('rows that come back into a set that is only stored have none before it passed over', () => {
  const sets = [1, 2, 3, 4, 5].map(psetid => add(psetid, [10 * psetid]));
  const last = sets.at(-1) ?? assert.fail();
  assert.deepEqual(take(1), [10]);
  last.lastpos = 51;
  rows.rows.push({ pos: 51, psetid: 5, tries: 0 });
  order.join(last, [51]);
  assert.deepEqual(take(9), [20, 30, 40, 50, 51]);
});

test('a set that is complete after one that came later has its place before it', () => {
  for (const psetid of [2, 4, 5, 6]) add(psetid, [10 * psetid]);
  add(3, [30]);
  assert.deepEqual(take(9), [20, 30, 40, 50, 60]);
});

test('thousands of sets without rows are gone through a few at a time', () => {
  for (let psetid = 1; psetid <= 1000; psetid++) add(psetid, []);
  const last = add(1001, [5]);
  let rounds = 0;
  for (let taken = take(5); taken.length === 0; taken = take(5), rounds++) assert.ok(order.isCutShort);
  assert.ok(rounds > 10 && order.setsHere <= 1001);
  done(last, 5);
  assert.deepEqual([take(5), order.isCutShort], [[], false]);
  assert.equal(order.finished().length, 1001);
});

test('urls that come back into a set before those that are begun are taken first, and nothing twice', () => {
  const sets = [1, 2, 3, 4, 5, 6].map(psetid => add(psetid, [10 * psetid]));
  const [first] = sets;
  assert.ok(first);
  assert.deepEqual(take(1), [10]);
  done(first, 10);
  assert.deepEqual(take(3), [20, 30, 40]);
  assert.deepEqual(order.finished(), [first]);
  first.lastpos = 11;
  rows.rows.unshift({ pos: 11, psetid: 1, tries: 0 });
  order.join(first, [11]);
  assert.deepEqual(take(9), [11, 50, 60]);
  for (const set of sets) done(set, set.lastpos);
  assert.deepEqual([take(9), order.finished().length, order.hasSets], [[], 6, false]);
});

test('of a hundred thousand sets that urls come back into few are in memory, and it is no work for each', () => {
  const count = 100_000;
  const many = oneUrlSets(count);
  const taken = many.take(20_000, 0);
  for (const { set, row } of taken) many.done(set, row.pos);
  const looks = looksAtEntries(() => {
    for (let pos = 1; pos <= count; pos++) many.join(setAt(pos), [pos]);
  });
  assert.ok(looks < 10_000, `${looks} looks at sets`);
  assert.ok(many.setsHere <= 20_000 + 1000, `${many.setsHere} sets`);
});

test('urls that come back into thousands of sets that wait are put in order once', () => {
  const count = 20_000;
  const many = oneUrlSets(count);
  many.take(count, 0);
  const looks = looksAtEntries(() => {
    for (let pos = count; pos > 0; pos--) many.rewind(setAt(pos), pos);
  });
  assert.ok(looks < 10 * count, `${looks} looks at sets`);
});
