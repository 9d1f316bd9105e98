import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import fc from 'fast-check';
import { CacheReader, type Selection } from '../../../src/db/cache/read.js';
import { TestCache } from '../../support/cache.js';
import { amount } from '../../support/long.js';

let cache: TestCache;
beforeEach(() => (cache = new TestCache()));
afterEach(() => cache.close());

const BOTH: Selection = { sides: ['held', 'gone'] };

/** What is told after a change: `upsert BURL CURL MIMETYPE`, `delete BURL`. */
function told(sinceSeq: number, more: Partial<Selection> = {}): string[] {
  const reader = new CacheReader(cache.dbPath, 'local');
  try {
    const columns = ['op', 'burl', 'curl', 'mimetype'] as const;
    const pages = reader.pages({ ...BOTH, sinceSeq, ...more }, columns);
    return [...pages].map(([op, burl, curl, type]) =>
      op === 'delete' ? `delete ${burl}` : `upsert ${burl} ${curl} ${type}`,
    );
  } finally {
    reader.close();
  }
}

function highWater(): number {
  return Number(cache.db.prepare("SELECT value FROM counter WHERE name = 'seq'").pluck().get());
}

describe('pages by browse URL', () => {
  it('tell of a url that was changed, and of one that is gone', () => {
    cache.put({ curl: 'http://x/1' });
    cache.put({ curl: 'http://x/2', burl: 'http://b/2' });
    cache.put({ curl: 'http://x/hidden', burl: '' });
    assert.deepEqual(told(0), [
      'upsert http://x/1 http://x/1 text/html',
      'upsert http://b/2 http://x/2 text/html',
    ]);
    const since = highWater();
    cache.put({ curl: 'http://x/1', content: 'new' });
    cache.remove('http://x/2');
    cache.remove('http://x/hidden');
    assert.deepEqual(told(since), ['upsert http://x/1 http://x/1 text/html', 'delete http://b/2']);
  });

  it('tell that the former URL is gone before they tell the new one', () => {
    cache.put({ curl: 'http://x/1', burl: 'http://b/old' });
    cache.put({ curl: 'http://x/2' });
    const since = highWater();
    cache.put({ curl: 'http://x/1', burl: 'http://b/new' });
    cache.put({ curl: 'http://x/2', burl: '' });
    assert.deepEqual(told(since), [
      'delete http://b/old',
      'upsert http://b/new http://x/1 text/html',
      'delete http://x/2',
    ]);
  });

  it('forget every URL a row has had since, however often it changed', () => {
    cache.put({ curl: 'http://x/1', burl: 'http://b/1' });
    const since = highWater();
    cache.put({ curl: 'http://x/1', burl: 'http://b/2' });
    cache.put({ curl: 'http://x/1', burl: 'http://b/1' });
    cache.put({ curl: 'http://x/1', burl: 'http://b/3' });
    assert.deepEqual(told(since), [
      'delete http://b/2',
      'delete http://b/1',
      'upsert http://b/3 http://x/1 text/html',
    ]);
  });

  it('tell of a shared URL once, with the row that was changed last', () => {
    cache.put({ curl: 'http://x/1', burl: 'http://b/' });
    cache.put({ curl: 'http://x/1', burl: 'http://b/', mimetype: 'text/xml' });
    cache.put({ curl: 'http://b/', pid: 2 });
    cache.put({ curl: 'http://x/1', burl: 'http://b/', content: 'changed' });
    assert.deepEqual(told(0), ['upsert http://b/ http://x/1 text/html']);
    assert.deepEqual(told(0, { mime: 'text/xml' }), ['upsert http://b/ http://x/1 text/xml']);
    assert.deepEqual(told(0, { pid: 2 }), ['upsert http://b/ http://b/ text/html']);
  });

  it('delete a shared URL only with the last row, and show what remains meanwhile', () => {
    cache.put({ curl: 'http://x/1', burl: 'http://b/' });
    cache.put({ curl: 'http://b/', pid: 2 });
    cache.put({ curl: 'http://x/3', burl: 'http://b/' });
    let since = highWater();
    cache.remove('http://x/3');
    assert.deepEqual(told(since), ['upsert http://b/ http://b/ text/html']);
    since = highWater();
    cache.remove('http://b/', { pid: 2 });
    assert.deepEqual(told(since), ['upsert http://b/ http://x/1 text/html']);
    since = highWater();
    cache.put({ curl: 'http://x/1', burl: 'http://c/' });
    assert.deepEqual(told(since), ['delete http://b/', 'upsert http://c/ http://x/1 text/html']);
  });

  it('are not seen by whoever knows rows by their id', () => {
    cache.put({ curl: 'http://x/1', burl: 'http://b/1' });
    cache.put({ curl: 'http://x/1', burl: 'http://b/2' });
    const reader = new CacheReader(cache.dbPath, 'local');
    const rows = [...reader.rows(BOTH, ['op', 'id', 'burl'])];
    assert.equal(reader.count(BOTH), 1);
    reader.close();
    assert.deepEqual(
      rows.map(row => row.slice(0, 3)),
      [['upsert', 1, 'http://b/2']],
    );
  });

  it('keep an index equal to what is shown, whatever happens between its runs', () => {
    const urls = ['http://x/1', 'http://x/2', 'http://x/3'];
    const change = fc.record({
      curl: fc.constantFrom(...urls),
      pid: fc.constantFrom(1, 2),
      burl: fc.constantFrom(undefined, '', ...urls),
      remove: fc.boolean(),
      runs: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 25 }), changes => {
        cache.close();
        cache = new TestCache();
        const index = new Map<string, number>();
        let since = 0;
        const run = () => {
          const reader = new CacheReader(cache.dbPath, 'local');
          const seen = new Set<unknown>();
          for (const [op, burl, id] of reader.pages({ ...BOTH, sinceSeq: since }, ['op', 'burl', 'id'])) {
            assert.ok(!seen.has(burl), `${burl} is told twice`);
            seen.add(burl);
            if (op === 'delete') index.delete(String(burl));
            else index.set(String(burl), Number(id));
          }
          since = reader.highWater;
          reader.close();
        };
        for (const { curl, pid, burl, remove, runs } of changes) {
          const isHeld = cache.db.prepare('SELECT 1 FROM lccurl WHERE pid = ? AND curl = ?').get(pid, curl);
          if (!remove) cache.put({ curl, pid, ...(burl === undefined ? {} : { burl }) });
          else if (isHeld !== undefined) cache.remove(curl, { pid });
          if (runs) run();
        }
        run();
        const shown = cache.db
          .prepare<[], [string, number]>(
            `SELECT coalesce(burl, curl) AS b, id FROM lccurl WHERE burl IS NOT '' ORDER BY seq`,
          )
          .raw()
          .all();
        assert.deepEqual(index, new Map(shown));
      }),
      { numRuns: amount(20, 60) },
    );
  });
});
