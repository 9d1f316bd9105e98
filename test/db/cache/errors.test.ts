import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { FsckLook } from '../../../src/db/fsck-look.js';
import type { Provider } from '../../../src/db/providers/pidb.js';
import { PidbReader } from '../../../src/db/providers/pidb-reader.js';
import { shownErrors } from '../../../src/uns/shown-errors.js';
import { absolute, Bench, ok, url } from '../../qm/support.js';

const KEPT = 100;
let bench: Bench;
afterEach(() => bench.close());

function begin(): void {
  bench = new Bench({ errorsKept: KEPT });
  bench.provider(1);
}

function addAll(count: number): void {
  for (let i = 0; i < count; i++) bench.store.errors.add(1, url(`p${i}`), 404, 'not found');
}

const add = (count: number) => bench.store.transaction(() => addAll(count));

/** The provider has received all that are kept. */
function deliver(): void {
  const { store } = bench;
  store.transaction(() => store.errors.delivered(1, Number(bench.value('SELECT max(errseq) FROM pierr'))));
}

test('errors beyond those that are kept cost no more however many are', () => {
  begin();
  bench.store.transaction(() => {
    addAll(KEPT - 10);
    // Who counted them for each would find room for those that are gone.
    bench.db.exec('DELETE FROM pierr WHERE errseq IN (SELECT errseq FROM pierr LIMIT 5)');
    addAll(1000);
  });
  assert.equal(bench.value('SELECT count(*) FROM pierr'), KEPT - 5);
  assert.equal(bench.value('SELECT nurlerrs FROM pidb'), KEPT + 990);
  deliver();
  add(1);
  assert.equal(bench.value('SELECT count(*) FROM pierr'), 1);
});

test('an error has a number above all that were received, though none of those is kept, nor is known after a restart', () => {
  begin();
  add(3);
  const received = Number(bench.value('SELECT max(errseq) FROM pierr'));
  deliver();
  assert.equal(bench.value('SELECT count(*) FROM pierr'), 0);
  add(1);
  assert.equal(bench.value('SELECT errseq FROM pierr ORDER BY errseq'), received + 1);
  deliver();
  bench.reopen();
  add(1);
  assert.equal(bench.value('SELECT errseq FROM pierr ORDER BY errseq'), received + 2);
});

test('what one provider has received is forgotten of that one alone', () => {
  begin();
  bench.provider(2);
  const { store } = bench;
  store.transaction(() => store.errors.add(2, url('q'), 404, 'not found'));
  add(2);
  deliver();
  assert.deepEqual(bench.all('SELECT pid FROM pierr ORDER BY errseq'), [{ pid: 2 }]);
  assert.deepEqual(bench.all('SELECT pid, nurlerrs FROM pidb ORDER BY pid'), [
    { pid: 1, nurlerrs: 0 },
    { pid: 2, nurlerrs: 1 },
  ]);
});

/** What a CP that has received all up to `mark` is told at its next login: how many errors there are, and which. */
function told(mark: number): { total: number; shown: string[] } {
  const reader = new PidbReader(bench.path);
  const { total, shown } = reader.errorsAbove(1, mark, KEPT * 2);
  reader.close();
  return { total, shown: shown.map(({ attrs }) => /curl="([^"]*)"/.exec(attrs)?.[1] ?? '') };
}

/** Errors in one transaction, and then that all up to `errseq` have been received, in the same one or another. */
function addBeforeReceipt(names: string[], errseq: number, together: boolean): void {
  const { store } = bench;
  const add = () => names.forEach(name => store.errors.add(1, url(name), 404, 'not found'));
  const receive = () => store.errors.delivered(1, errseq);
  if (!together) store.transaction(add);
  store.transaction(() => {
    if (together) add();
    receive();
  });
}

for (const together of [false, true]) {
  const when = together ? 'with' : 'before';
  test(`errors that are only counted after a login, ${when} the receipt of all that it was shown, are told at the next`, () => {
    begin();
    add(KEPT);
    const last = Number(bench.value('SELECT max(errseq) FROM pierr'));
    addBeforeReceipt(['x', 'y', 'z'], last, together);
    // The one whose place it took counts with those that are not kept.
    assert.deepEqual(told(last), { total: 4, shown: ['z'] });
    assert.deepEqual(new FsckLook(bench.db).wrongCounts(), []);
    deliver();
    assert.deepEqual(told(last), { total: 0, shown: [] });
    assert.deepEqual(bench.all('SELECT nurlerrs FROM pidb'), [{ nurlerrs: 0 }]);
  });
}

test('the last one counted takes the place of the last one kept, of none that must not be lost among many', () => {
  begin();
  const { store } = bench;
  add(KEPT - 1);
  store.transaction(() => store.errors.add(1, url('held'), 205, 'held back'));
  add(1);
  const shown = () => told(0).shown.slice(KEPT - 3);
  assert.deepEqual(shown(), ['p97', 'held', 'p0']);
  store.transaction(() => store.errors.add(1, url('late'), 404, 'not found'));
  assert.deepEqual(shown(), ['p97', 'held', 'late']);
  assert.equal(told(0).total, KEPT + 2);
});

test('what a transaction only counted is gone when that is taken back', () => {
  begin();
  add(KEPT);
  assert.throws(() =>
    bench.store.transaction(() => {
      addAll(1);
      throw new Error('taken back');
    }),
  );
  const before = bench.all('SELECT errseq FROM pierr ORDER BY errseq');
  bench.store.transaction(() => undefined);
  assert.deepEqual(bench.all('SELECT errseq FROM pierr ORDER BY errseq'), before);
});

test('an error is over once content of its url has come, and of that url alone', async () => {
  begin();
  const names = ['a', 'a"b', 'ab', 'a&b'];
  await bench.send(
    1,
    names.map(name => url(name)),
  );
  for (const name of names) bench.missing(1, name);
  const errors = () =>
    told(0)
      .shown.map(curl => curl.replace(absolute(''), ''))
      .toSorted();
  assert.deepEqual(errors(), ['a', 'a&amp;b', 'a&quot;b', 'ab']);

  // New, changed to what cannot be had, and new again; another mimetype is another url.
  await bench.send(1, [url('a'), url('a"b'), { ...url('ab'), mimetype: 'text/plain' }]);
  for (const name of ['a', 'a"b']) bench.fetch(1, name);
  const other = bench.row(1, 'ab', 'text/plain');
  assert.ok(other);
  assert.equal(bench.answer(other, ok('x')), 'done');
  assert.deepEqual(errors(), ['a&amp;b', 'ab']);
  assert.equal(told(0).total, 2);
  assert.deepEqual(bench.all('SELECT nurlerrs FROM pidb'), [{ nurlerrs: 2 }]);
  assert.deepEqual(new FsckLook(bench.db).wrongCounts(), []);

  await bench.send(1, [url('a&b'), url('ab')]);
  for (const name of ['a&b', 'ab']) bench.fetch(1, name);
  assert.deepEqual(told(0), { total: 0, shown: [] });
  assert.deepEqual(bench.all('SELECT nurlerrs FROM pidb'), [{ nurlerrs: 0 }]);
});

test('the last error kept stays while others were only counted: they would never be told', async () => {
  begin();
  await bench.send(1, [url('a')]);
  bench.missing(1, 'a');
  bench.db.exec('UPDATE pidb SET nurlerrs = 3');
  await bench.send(1, [url('a')]);
  bench.fetch(1, 'a');
  assert.deepEqual(told(0), { total: 3, shown: [absolute('a')] });
  const reader = new PidbReader(bench.path);
  const provider = { pid: 1, nurlerrs: 3 } as Provider;
  const { shown, total, upTo } = shownErrors(reader, provider, 0, 100);
  reader.close();
  assert.deepEqual([shown, total], [[], 2], 'of a page that has come nobody is told');
  bench.store.transaction(() => bench.store.errors.delivered(1, upTo));
  assert.deepEqual(bench.all('SELECT nurlerrs FROM pidb'), [{ nurlerrs: 0 }]);
});
