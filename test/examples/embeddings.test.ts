import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { TestCache } from '../support/cache.js';
import { runLccq } from '../support/lccq.js';
import { ROOT } from '../support/tree.js';

const CHUNKS = join(ROOT, 'examples/embeddings/chunks.mjs');

interface Piece {
  op: 'upsert' | 'delete';
  document: number;
  id: string;
  url: string;
  text: string;
}

let cache: TestCache;
beforeEach(() => {
  cache = new TestCache();
});
afterEach(() => cache.close());

/** A vector store without the vectors: what `my-vector-store` of the README does with its input. */
class Store {
  readonly pieces = new Map<string, Piece>();
  readonly cursor = join(cache.home, 'vectors.cursor');

  follow(...sizes: number[]): number {
    const out = join(cache.home, 'pieces');
    const pipe = `node ${CHUNKS} ${sizes.join(' ')} >${out}`;
    const args = [
      `--cursor=${this.cursor}`,
      '--format=jsonl',
      '--text',
      '--',
      'bash',
      '-o',
      'pipefail',
      '-c',
      pipe,
    ];
    const { status, stderr } = runLccq(cache, args);
    assert.equal(status, 0, stderr);
    const lines = spawnSync('cat', [out], { encoding: 'utf8' }).stdout.split('\n').slice(0, -1);
    spawnSync('rm', ['-f', out]);
    for (const line of lines) this.take(JSON.parse(line) as Piece);
    return lines.length;
  }

  take(piece: Piece): void {
    if (piece.op === 'upsert') this.pieces.set(piece.id, piece);
    else
      for (const [id, { document }] of this.pieces) if (document === piece.document) this.pieces.delete(id);
  }

  of(url: string): string[] {
    return [...this.pieces.values()].filter(piece => piece.url === url).map(({ text }) => text);
  }
}

describe('the example for embeddings', () => {
  it('cuts pages into pieces that overlap and together hold every word', () => {
    const words = Array.from({ length: 3000 }, (_, i) => `word${i}${i % 12 === 11 ? '.' : ''}`);
    const paragraphs = [words.slice(0, 100), words.slice(100, 2900), words.slice(2900)];
    cache.put({ curl: 'http://x/1', content: paragraphs.map(list => `<p>${list.join(' ')}</p>`).join('') });
    const store = new Store();
    store.follow(1000, 150);
    const texts = store.of('http://x/1');
    assert.ok(texts.length > 20);
    assert.ok(texts.every(text => text.length <= 1000));
    assert.deepEqual(new Set(texts.flatMap(text => text.split(/\s+/))), new Set(words));
    for (const [i, text] of texts.slice(1).entries())
      assert.ok(texts[i]?.includes(text.split(/\s+/)[0] ?? ''), 'begins with words of the one before');
  });

  it('follows changes and deletions; a second run finds nothing to do', () => {
    cache.put({ curl: 'http://x/1', content: '<title>One</title><p>first words' });
    cache.put({ curl: 'http://x/2', content: '<p>second words' });
    cache.put({ curl: 'http://x/3', mimetype: 'image/png', content: '\u0089PNG' });
    const store = new Store();
    store.follow();
    assert.deepEqual(store.of('http://x/1'), ['first words']);
    cache.put({ curl: 'http://x/1', content: '<p>other words' });
    cache.remove('http://x/2');
    store.follow();
    assert.deepEqual(
      [store.of('http://x/1'), store.of('http://x/2'), store.pieces.size],
      [['other words'], [], 1],
    );
    assert.equal(store.follow(), 0);
  });
});
