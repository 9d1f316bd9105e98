import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { CacheReader } from '../../../src/db/cache/read.js';
import { inOrder, type Selection } from '../../../src/db/cache/selection.js';
import { TestCache } from '../../support/cache.js';

let cache: TestCache;
beforeEach(() => (cache = new TestCache()));
afterEach(() => cache.close());

/** How SQLite goes about it. */
function planOf(selection: Selection): string[] {
  const { sql, values } = inOrder(selection, () => 'id');
  return cache.db
    .prepare<[object], { detail: string }>(`EXPLAIN QUERY PLAN SELECT * FROM (${sql} LIMIT 10)`)
    .all(values)
    .map(({ detail }) => detail);
}

describe('rows in the order of the change sequence', () => {
  const sides = [['held'], ['gone'], ['held', 'gone']] as const;
  for (const some of sides) {
    it(`are read along it, not sorted: ${some.join(' and ')}`, () => {
      for (const more of [{}, { toSeq: 9 }, { pid: 1 }, { browsable: true, moved: true }]) {
        const plan = planOf({ sides: some, sinceSeq: 5, ...more });
        assert.deepEqual(
          plan.filter(detail => /TEMP B-TREE|SCAN (lccurl|tombstone)/.test(detail)),
          [],
        );
        assert.equal(
          plan.filter(detail => /SEARCH (lccurl|tombstone) .*(seq|rowid)>/.test(detail)).length,
          some.length,
        );
      }
    });
  }

  it('of a provider are found by it where they are few, and are the same ones where they are many', () => {
    const few = planOf({ sides: ['held'], pid: 1, fewOfPid: true });
    assert.ok(few.some(detail => detail.includes('(pid=?')));
    cache.fill(300, i => `http://a/${i}`);
    for (let i = 0; i < 5; i++) cache.put({ curl: `http://b/${i}`, pid: 2 });
    cache.put({ curl: 'http://a/300', content: 'changed' });
    const reader = new CacheReader(cache.dbPath, 'local');
    for (const pid of [1, 2, 3]) {
      const rows = reader.rows({ sides: ['held'], pid }, ['seq', 'pid']);
      assert.deepEqual(
        [...rows],
        cache.db.prepare('SELECT seq, pid FROM lccurl WHERE pid = ? ORDER BY seq').raw().all(pid),
      );
    }
    reader.close();
  });
});
