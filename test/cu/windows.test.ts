import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import fc from 'fast-check';
import { rowWindows } from '../../src/cu/windows.js';
import { CacheReader } from '../../src/db/cache/read.js';
import { TestCache } from '../support/cache.js';

let cache: TestCache;
beforeEach(() => (cache = new TestCache()));
afterEach(() => cache.close());

/** A gap wider than a window in the sequence. */
function farther(): void {
  cache.db.exec("UPDATE counter SET value = value + 6000 WHERE name = 'seq'");
}

/** What a stream reports of pages by browse URL, all of it; `between` is called while no snapshot is open. */
function told(since: number, between: () => void = () => undefined): { pages: string[][]; to: number } {
  const reader = new CacheReader(cache.dbPath, 'local');
  try {
    const to = reader.highWater;
    reader.rest();
    const pages: string[][] = [];
    const selection = { sides: ['held', 'gone'] as const };
    const range = { since, to, limit: Infinity, began: since === 0 ? to : 0 };
    for (const { items } of rowWindows(reader, selection, range, ['op', 'burl', 'id'], 'pages')) {
      pages.push(...items.map(([, ...values]) => values.map(String)));
      between();
    }
    return { pages, to };
  } finally {
    reader.close();
  }
}

describe('windows of pages', () => {
  const of = (burl: string, { pages }: ReturnType<typeof told>) =>
    pages.filter(([, told]) => told === burl).map(([op]) => op);

  it('tell of a page once, however far its changes are from each other', () => {
    cache.put({ curl: 'http://x/1', burl: 'http://b/' });
    cache.put({ curl: 'http://x/2', burl: 'http://b/' });
    farther();
    cache.remove('http://x/1');
    assert.deepEqual(of('http://b/', told(0)), ['upsert']);
  });

  it('tell of a page once that is gone, back and gone again', () => {
    cache.put({ curl: 'http://x/1' });
    cache.remove('http://x/1');
    cache.put({ curl: 'http://x/1' });
    farther();
    cache.remove('http://x/1');
    assert.deepEqual(of('http://x/1', told(0)), ['delete']);
    cache.put({ curl: 'http://x/1' });
    assert.deepEqual(of('http://x/1', told(0)), ['upsert']);
  });

  it('keep an index equal to what is shown, whatever is changed while they are read', () => {
    const urls = ['http://x/1', 'http://x/2'];
    const change = fc.record({
      curl: fc.constantFrom(...urls),
      burl: fc.constantFrom(undefined, '', ...urls),
      what: fc.constantFrom('put', 'put', 'remove', 'farther', 'run'),
    });
    const changes = fc.array(change, { maxLength: 15 });
    fc.assert(
      fc.property(changes, changes, (before, meanwhile) => {
        cache.close();
        cache = new TestCache();
        const index = new Map<string, string>();
        let since = 0;
        const run = (between?: () => void) => {
          const { pages, to } = told(since, between);
          const seen = pages.map(([, burl]) => burl);
          assert.equal(new Set(seen).size, seen.length, 'a page is told twice');
          for (const [op, burl = '', id = ''] of pages) {
            if (op === 'delete') index.delete(burl);
            else index.set(burl, id);
          }
          since = to;
        };
        const happen = ({ curl, burl, what }: (typeof before)[number]) => {
          const held = cache.db.prepare('SELECT 1 FROM lccurl WHERE curl = ?').get(curl) !== undefined;
          if (what === 'put') cache.put({ curl, ...(burl === undefined ? {} : { burl }) });
          else if (what === 'remove' && held) cache.remove(curl);
          else if (what === 'farther') farther();
        };
        for (const one of before) {
          if (one.what === 'run') run();
          else happen(one);
        }
        const left = [...meanwhile];
        run(() => {
          const one = left.shift();
          if (one !== undefined) happen(one);
        });
        run();
        const shown = cache.db
          .prepare<[], [string, string]>(
            `SELECT coalesce(burl, curl), CAST(id AS TEXT) FROM lccurl WHERE burl IS NOT '' ORDER BY seq`,
          )
          .raw()
          .all();
        assert.deepEqual(index, new Map(shown));
      }),
      { numRuns: 40 },
    );
  });
});
