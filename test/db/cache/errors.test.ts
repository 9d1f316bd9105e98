import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { Bench, url } from '../../qm/support.js';

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
  assert.equal(bench.value('SELECT errseq FROM pierr'), received + 1);
  deliver();
  bench.reopen();
  add(1);
  assert.equal(bench.value('SELECT errseq FROM pierr'), received + 2);
});

test('what one provider has received is forgotten of that one alone', () => {
  begin();
  bench.provider(2);
  const { store } = bench;
  store.transaction(() => store.errors.add(2, url('q'), 404, 'not found'));
  add(2);
  deliver();
  assert.deepEqual(bench.all('SELECT pid FROM pierr'), [{ pid: 2 }]);
  assert.deepEqual(bench.all('SELECT pid, nurlerrs FROM pidb ORDER BY pid'), [
    { pid: 1, nurlerrs: 0 },
    { pid: 2, nurlerrs: 1 },
  ]);
});
