import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { OrderStore, type WaitingEntry } from '../../src/db/order.js';

const dir = mkdtempSync(join(tmpdir(), 'lcc-order-'));
after(() => rmSync(dir, { recursive: true }));
let files = 0;

const SET: WaitingEntry = { pid: 7, full: false, urls: 3 };

function stores(...names: string[]): OrderStore[] {
  const path = join(dir, `${++files}.db`);
  return names.map(name => {
    const store = new OrderStore(path, name);
    store.agree(() => new Map(names.map(one => [one, new Map<number, WaitingEntry>()])));
    return store;
  });
}

const ids = (store: OrderStore, pid: number, n: number) => store.holders(pid, n).map(({ id }) => id);

describe('the order of sets over several UNSes', () => {
  it('is one ascending row of numbers, whoever asks', () => {
    const [a, b] = stores('a', 'b') as [OrderStore, OrderStore];
    const numbers = [...a.enter([SET, SET]), ...b.enter([SET]), ...a.enter([SET])];
    assert.deepEqual(numbers, [1, 2, 3, 4]);
  });

  it('names who has an earlier set of the same provider, as long as it waits', () => {
    const [a, b] = stores('a', 'b') as [OrderStore, OrderStore];
    const [first = 0, other = 0] = a.enter([SET, { ...SET, pid: 8 }]);
    const [second = 0] = b.enter([SET]);
    assert.deepEqual(ids(b, 7, second), ['a']);
    assert.deepEqual(ids(b, 9, second), [], 'another provider');
    assert.deepEqual(ids(a, 7, first), [], 'the first');
    assert.deepEqual(ids(a, 7, second), [], 'its own');
    b.leave([first]);
    assert.deepEqual(ids(b, 7, second), ['a'], 'only its owner crosses out a set');
    a.leave([first]);
    assert.deepEqual(ids(b, 7, second), []);
    assert.deepEqual(ids(b, 8, second), ['a']);
    a.leave([other]);
  });

  it('sums what waits for a provider everywhere', () => {
    const [a, b] = stores('a', 'b') as [OrderStore, OrderStore];
    assert.deepEqual(a.waiting(7), { sets: 0, urls: 0, fullSets: 0 });
    a.enter([SET, { ...SET, pid: 8 }]);
    b.enter([{ ...SET, full: true }]);
    assert.deepEqual(a.waiting(7), { sets: 2, urls: 6, fullSets: 1 });
  });

  it('forgets numbers of an own entry that never got its name, not those of others', () => {
    const [a, b] = stores('a', 'b') as [OrderStore, OrderStore];
    const [kept = 0, lost = 0] = a.enter([SET, SET]);
    b.enter([SET]);
    a.agree(
      () =>
        new Map([
          ['a', new Map([[kept, SET]])],
          ['b', new Map<number, WaitingEntry>()],
        ]),
    );
    assert.deepEqual(a.waiting(7), { sets: 2, urls: 6, fullSets: 0 });
    assert.deepEqual(ids(b, 7, lost + 1), ['a']);
    a.leave([kept]);
    assert.deepEqual(ids(b, 7, lost + 1), []);
  });

  it('is made anew from the names in the spools when a power cut has taken it, and goes on above them', () => {
    const [a, b] = stores('a', 'b') as [OrderStore, OrderStore];
    const found = new Map([
      ['a', new Map([[17, SET]])],
      ['b', new Map([[18, { ...SET, full: true }]])],
    ]);
    b.agree(() => found);
    assert.deepEqual(ids(b, 7, 18), ['a']);
    assert.deepEqual(ids(a, 7, 18), []);
    assert.deepEqual(a.waiting(7), { sets: 2, urls: 6, fullSets: 1 });
    assert.deepEqual(a.enter([SET]), [19]);
  });

  it('forgets a UNS whose spool was removed', () => {
    const [a, b] = stores('a', 'b') as [OrderStore, OrderStore];
    a.enter([SET]);
    const [n = 0] = b.enter([SET]);
    b.agree(() => new Map([['b', new Map([[n, SET]])]]));
    assert.deepEqual(ids(b, 7, n), []);
  });

  it('shows that a UNS lives by a number that moves', () => {
    const [a, b] = stores('a', 'b') as [OrderStore, OrderStore];
    const entered = a.enter([SET]);
    const beats = () => b.holders(7, 2).map(({ beat }) => beat);
    const before = beats();
    a.beat();
    assert.notDeepEqual(beats(), before);
    const between = beats();
    a.enter([SET]);
    assert.notDeepEqual(beats(), between, 'a set that is accepted is a sign of life');
    assert.deepEqual(entered, [1]);
  });

  it('refuses to work on what is no database, naming the file', () => {
    const path = join(dir, 'damaged.db');
    writeFileSync(path, 'no database at all, but long enough to be looked at '.repeat(100));
    assert.throws(() => new OrderStore(path, 'a'), { code: 'data.malformed', message: /damaged\.db/ });
  });
});
