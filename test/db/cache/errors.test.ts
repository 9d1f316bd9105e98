import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Bench, url } from '../../qm/support.js';

test('errors beyond those that are kept cost no more however many are', () => {
  const kept = 50_000;
  const bench = new Bench({ errorsKept: kept });
  bench.provider(1);
  const { store } = bench;
  const add = (count: number) =>
    store.transaction(() => {
      for (let i = 0; i < count; i++) store.errors.add(1, url(`p${i}`), 404, 'not found');
    });
  add(kept - 10);
  const startedMs = performance.now();
  add(1000);
  // Counted for each, all of this did not end within a minute and a half.
  assert.ok(performance.now() - startedMs < 300);
  assert.equal(bench.value('SELECT count(*) FROM pierr'), kept);
  assert.equal(bench.value('SELECT nurlerrs FROM pidb'), kept + 990);
  store.transaction(() => store.errors.delivered(1, Number(bench.value('SELECT max(errseq) FROM pierr'))));
  add(1);
  assert.equal(bench.value('SELECT count(*) FROM pierr'), 1);
  bench.close();
});
