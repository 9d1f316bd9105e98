/** Words of an owner about a page that is held as several types: all of its rows are meant, and the last word counts. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { disagreement } from '../../../src/db/queue/sets-from-urls.js';
import { AS_SERVED, type UrlRecord } from '../../../src/wire/url.js';
import { Bench, failure, ok, url } from '../../qm/support.js';

const HTML = 'text/html';
const PDF = 'application/pdf';

let bench: Bench;
beforeEach(async () => {
  bench = new Bench({ retries: 0 });
  bench.provider(7);
  await bench.send(7, [url('a'), url('a', { mimetype: PDF })]);
  for (const mimetype of [HTML, PDF])
    assert.equal(bench.fetch(7, 'a', `first ${mimetype}`, { mimetype }, mimetype), 'done');
});
afterEach(() => {
  assert.equal(disagreement(bench.db), undefined);
  assert.equal(bench.value('SELECT nurlproc FROM pidb'), bench.value('SELECT count(*) FROM qdb'));
  bench.close();
});

const asServed = (more: Partial<UrlRecord> = {}) => url('a', { mimetype: AS_SERVED, ...more });
const queue = () =>
  bench.all('SELECT mimetype, op, len, flags FROM qdb ORDER BY mimetype').map(row => Object.values(row));
const held = () => bench.all('SELECT mimetype FROM lccurl ORDER BY 1').map(row => Object.values(row)[0]);

describe('a page that is held as several types', () => {
  it('has the last words in each row, in one set or in several', async () => {
    await bench.send(7, [asServed({ len: '1' }), asServed({ len: '2' })]);
    const both = (len: number) => [PDF, HTML].map(type => [type, 1, len, 0]);
    assert.deepEqual(queue(), both(2));
    await bench.send(7, [asServed({ len: '3' })]);
    assert.deepEqual(queue(), both(3));
    await bench.send(7, [asServed({ len: '4' })], { set: 'full' });
    assert.deepEqual(queue(), both(4));
  });

  it('is fetched whole though a full set names it while it waits', async () => {
    await bench.send(7, [asServed()]);
    await bench.send(7, [asServed()], { set: 'full' });
    assert.deepEqual(
      queue().map(([type]) => type),
      [PDF, HTML],
    );
    assert.deepEqual(held(), [PDF, HTML]);
  });

  it('is its owner’s in each row though a push of it waits', async () => {
    await bench.send(7, [asServed({ outofroot: 'drop' })], { origin: 'push' });
    await bench.send(7, [asServed({ len: '2' })]);
    assert.deepEqual(
      queue(),
      [PDF, HTML].map(type => [type, 1, 2, 0]),
    );
    const row = bench.row(7, 'a', HTML);
    assert.ok(row);
    bench.answer(row, failure(404, 'real'));
    assert.equal(bench.value('SELECT nurlerrs FROM pidb'), 1, 'he hears of a failure');
  });

  for (const [words, after] of [
    ['a word about one of its types', url('a', { len: '9' })],
    ['the same of the other type', url('a', { mimetype: PDF, len: '9' })],
  ] as const)
    it(`${words} counts from then on, and before`, async () => {
      const others = (mimetype: string) => (mimetype === after.mimetype ? 9 : 2);
      await bench.send(7, [asServed({ len: '2' }), after]);
      assert.deepEqual(
        queue(),
        [PDF, HTML].map(type => [type, 1, others(type), 0]),
      );
      await bench.send(7, [after, asServed({ len: '3' })]);
      assert.deepEqual(
        queue(),
        [PDF, HTML].map(type => [type, 1, 3, 0]),
      );
    });

  for (const type of [HTML, PDF])
    it(`loses one that is deleted in the same set, and it is not fetched again: ${type}`, async () => {
      await bench.send(7, [asServed(), url('a', { mimetype: type, op: 'delete' })]);
      assert.deepEqual(
        held(),
        [PDF, HTML].filter(one => one !== type),
      );
      const row = bench.row(7, 'a', type);
      if (row !== undefined) bench.answer(row, ok('again', { mimetype: type }));
      assert.deepEqual(
        held(),
        [PDF, HTML].filter(one => one !== type),
      );
    });
});
