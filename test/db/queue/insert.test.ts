import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import fc from 'fast-check';
import type { UrlRecord } from '../../../src/wire/url.js';
import { absolute, Bench, url } from '../../qm/support.js';
import { amount } from '../../support/long.js';

let bench: Bench;
beforeEach(() => {
  bench = new Bench();
  bench.provider(7);
});
afterEach(() => bench.close());

interface Expected {
  curl: string;
  mimetype: string;
  len: number | null;
  md5: string | null;
  gen: number;
  op: number;
}

/** What is queued after all submissions, in its order. */
function expected(sets: readonly (readonly UrlRecord[])[]): Expected[] {
  const waiting = new Map<string, Expected>();
  for (const record of sets.flat()) {
    const { curl, mimetype, md5 = null, len } = record;
    const key = `${curl} ${mimetype}`;
    const before = waiting.get(key);
    if (record.op === 'delete') {
      if (before?.op === 1) waiting.set(key, { ...before, op: 0, gen: before.gen + 1 });
      continue;
    }
    const attributes = { len: len === undefined ? null : Number(len), md5, op: 1 };
    const said = { curl: absolute(curl), mimetype, ...attributes };
    waiting.set(key, { ...said, gen: (before?.gen ?? 0) + 1 });
  }
  return [...waiting.values()];
}

const queued = () => bench.all('SELECT curl, mimetype, len, md5, gen, op FROM qdb ORDER BY pos');

/** Few names, so that most are submitted again; most plain, so that there are statements of many rows. */
const record = fc
  .record({
    name: fc.integer({ min: 0, max: 150 }),
    len: fc.integer({ min: 0, max: 9 }),
    kind: fc.integer({ min: 0, max: 99 }),
  })
  .map(({ name, len, kind }) => {
    const more: Partial<UrlRecord> = { len: String(len) };
    if (kind < 1) more.op = 'delete';
    else if (kind < 3) more.md5 = '0cc175b9c0f1b6a831c399e269772661';
    else if (kind < 5) more.mimetype = 'text/plain';
    return url(`n${name}`, more);
  });

test('urls keep their first places and get the last attributes, however often and in whatever order they come', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(record, { maxLength: 400 }), { maxLength: 4 }), async sets => {
      bench.close();
      bench = new Bench({ sliceUrls: 130 });
      bench.provider(7);
      for (const set of sets) await bench.send(7, set);
      assert.deepEqual(queued(), expected(sets));
      const counts = bench.all('SELECT sum(queued) AS queued FROM absorbed');
      const rows = bench.value('SELECT count(*) FROM qdb');
      assert.deepEqual(counts, [{ queued: sets.length === 0 ? null : rows }]);
      assert.equal(bench.value('SELECT nurlproc FROM pidb'), rows);
    }),
    { numRuns: amount(20, 60) },
  );
});

test('what was to be submitted again when its transaction failed does not get into the next one', async () => {
  await bench.send(7, [url('a', { len: '1' })]);
  bench.db.exec("CREATE TEMP TRIGGER full BEFORE UPDATE ON queued BEGIN SELECT RAISE(ABORT, 'no room'); END");
  await assert.rejects(bench.send(7, [url('a', { len: '2' })]), /no room/);
  bench.db.exec('DROP TRIGGER full');
  await bench.send(7, [url('b', { len: '3' })]);
  assert.deepEqual(bench.all('SELECT len FROM qdb ORDER BY pos'), [{ len: 1 }, { len: 3 }]);
});

test('a place that is taken fails the set, it does not lose a url', async () => {
  await bench.send(7, [url('a')]);
  const next = Number(bench.value("SELECT value FROM counter WHERE name = 'pos'")) + 1;
  bench.db.exec(`UPDATE queued SET pos = ${next}`);
  await assert.rejects(bench.send(7, [url('b')]), /UNIQUE constraint failed: queued.pos/);
});
