import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import fc from 'fast-check';
import type { ColumnName } from '../../../src/db/cache/fields.js';
import { CacheReader } from '../../../src/db/cache/read.js';
import type { LineTemplate, Piece } from '../../../src/db/cache/template.js';
import { escapeAttribute } from '../../../src/lib/xml/escape.js';
import { formatUrl } from '../../../src/wire/url.js';
import { TestCache } from '../../support/cache.js';

const attribute = (name: string, column: ColumnName): Piece => ({ before: ` ${name}="`, column, after: '"' });
const template: LineTemplate = {
  held: [
    '<url',
    attribute('curl', 'curl'),
    attribute('mimetype', 'mimetype'),
    attribute('subtype', 'subtype'),
    attribute('burl', 'givenburl'),
    attribute('furl', 'givenfurl'),
    attribute('mtime', 'mtime'),
    attribute('pid', 'pid'),
    attribute('seq', 'seq'),
    '/>',
  ],
  gone: [
    '<url',
    attribute('curl', 'curl'),
    attribute('mimetype', 'mimetype'),
    attribute('burl', 'givenburl'),
    ' op="delete"',
    attribute('pid', 'pid'),
    attribute('seq', 'seq'),
    '/>',
  ],
  end: '\n',
  escapes: ['&', '<', '>', '"', '\t', '\n', '\r'].map(c => [c, escapeAttribute(c)] as const),
};

const caches: TestCache[] = [];
after(() => caches.forEach(cache => cache.close()));

function read(cache: TestCache, limit?: number): string {
  const reader = new CacheReader(cache.dbPath, 'local');
  try {
    return [...reader.lines({ sides: ['held', 'gone'] }, template, limit)]
      .map(block => block.bytes.toString())
      .join('');
  } finally {
    reader.close();
  }
}

describe('lines composed by SQL', () => {
  const free = fc.oneof(
    fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' }),
    fc.stringMatching(/^[a-z&<>"'%\t\n\r]{1,12}$/),
  );

  it('are what formatUrl writes, whatever the values hold', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(
          fc.record({
            curl: free,
            subtype: fc.option(free, { nil: undefined }),
            burl: fc.option(fc.oneof(free, fc.constant('')), { nil: undefined }),
            furl: fc.option(free, { nil: undefined }),
            gone: fc.boolean(),
          }),
          { selector: page => page.curl, minLength: 1, maxLength: 6 },
        ),
        pages => {
          const clean = pages.filter(
            page => !/[\0-\u0008\u000b\u000c\u000e-\u001f]/.test(JSON.stringify(page)),
          );
          const cache = new TestCache();
          try {
            for (const page of clean) {
              const { curl, subtype, burl, furl } = page;
              cache.put({
                curl,
                ...(subtype === undefined ? {} : { subtype }),
                ...(burl === undefined ? {} : { burl }),
                ...(furl === undefined ? {} : { furl }),
              });
            }
            const held = clean.map((page, i) => ({ page, seq: i + 1 }));
            let seq = clean.length;
            const gone = held
              .filter(({ page }) => page.gone)
              .map(({ page }) => {
                cache.remove(page.curl);
                return { page, seq: ++seq };
              });
            const expected = [
              ...held
                .filter(({ page }) => !page.gone)
                .map(({ page, seq }) => {
                  const { gone: _gone, ...said } = page;
                  return { ...said, mimetype: 'text/html', pid: '1', seq: String(seq) };
                }),
              ...gone.map(({ page, seq }) => ({
                curl: page.curl,
                mimetype: 'text/html',
                burl: page.burl,
                op: 'delete',
                pid: '1',
                seq: String(seq),
              })),
            ].map(record =>
              formatUrl(
                Object.fromEntries(
                  Object.entries(record).filter(([, value]) => value !== undefined),
                ) as unknown as Parameters<typeof formatUrl>[0],
              ),
            );
            assert.equal(read(cache), expected.join(''));
          } finally {
            cache.close();
          }
        },
      ),
      { numRuns: 40 },
    );
  });

  it('come in the order of the change sequence across many blocks, and stop at the limit', () => {
    const cache = new TestCache();
    caches.push(cache);
    cache.fill(1450, i => (i % 7 === 0 ? `http://x/a&b${i}` : `http://x/${i}`));
    cache.db.transaction(() => {
      for (let i = 1; i <= 1450; i += 3) if (i % 7 !== 0) cache.remove(`http://x/${i}`);
    })();
    const seqs = [...read(cache).matchAll(/ seq="(\d+)"/g)].map(found => Number(found[1]));
    assert.deepEqual(
      seqs,
      seqs.toSorted((a, b) => a - b),
    );
    assert.equal(seqs.length, 1450);
    assert.equal(read(cache, 750), read(cache).split('\n').slice(0, 750).join('\n') + '\n');
  });
});

describe('a reader', () => {
  it('sees one state although the writer goes on, and does not hinder it', () => {
    const cache = new TestCache();
    caches.push(cache);
    cache.put({ curl: 'http://x/1' });
    const reader = new CacheReader(cache.dbPath, 'local');
    cache.put({ curl: 'http://x/2' });
    cache.remove('http://x/1');
    const lines = [...reader.lines({ sides: ['held', 'gone'] }, template)];
    assert.equal(
      lines.map(block => block.bytes.toString()).join(''),
      '<url curl="http://x/1" mimetype="text/html" pid="1" seq="1"/>\n',
    );
    assert.equal(reader.highWater, 1);
    reader.close();
    assert.equal(new CacheReader(cache.dbPath, 'local').highWater, 3);
  });

  it("knows the documents' SQL", () => {
    const cache = new TestCache();
    caches.push(cache);
    cache.put({ curl: 'http://x/1', furl: 'http://y/1', mimetype: 'text/plain' });
    cache.put({ curl: 'http://x/2' });
    const rows = cache.db
      .prepare('select furl, mimetype, fetched_machineid, fetched_fileid from lccurl where fetched_time > 0')
      .raw()
      .all();
    assert.deepEqual(rows, [
      ['http://y/1', 'text/plain', 'local', '00/00/00000001.0'],
      ['http://x/2', 'text/html', 'local', '00/00/00000002.0'],
    ]);
  });
});
