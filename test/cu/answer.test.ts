import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { answer } from '../../src/cu/server/answer.js';
import { CacheReader } from '../../src/db/cache/read.js';
import { TestCache } from '../support/cache.js';

const pageOf = (i: number) => `http://www.example.org/${i}`;
const PAGES = 200;

describe('an answer with content', () => {
  let cache: TestCache;
  let reader: CacheReader;
  beforeEach(() => {
    cache = new TestCache();
    reader = new CacheReader(cache.dbPath, 'local');
  });
  afterEach(() => {
    reader.close();
    cache.close();
  });

  /** What a client gets; `meanwhile` happens when the first of it is written. */
  async function answered(meanwhile: (files: string[]) => void) {
    const content = 'x'.repeat(10_000);
    const files = Array.from({ length: PAGES }, (_, i) => cache.put({ curl: pageOf(i), content }));
    let text = '';
    const write = (part: string | Uint8Array) => {
      if (text === '') meanwhile(files);
      text += Buffer.from(part).toString();
      return Promise.resolve();
    };
    const sink = {
      write,
      flush: () => Promise.resolve(),
      end: () => Promise.resolve(),
      destroy: () => undefined,
    };
    const resolved = () => Promise.resolve();
    const parts = { reader, storeDir: cache.store, nowMs: 0, sink, shipped: resolved, pause: resolved };
    const { omitted } = await answer({ content: true }, parts);
    return { omitted, text };
  }

  it('leaves out what was replaced or deleted since it began, for the next answer has it', async () => {
    const { omitted, text } = await answered(files => {
      for (const [i, file] of files.entries()) {
        if (i % 2 === 0) cache.put({ curl: pageOf(i), content: 'new' });
        else cache.remove(pageOf(i));
        rmSync(file);
      }
    });
    assert.equal(omitted, 0);
    assert.doesNotMatch(text, /<omitted/);
    assert.ok((text.match(/<url /g)?.length ?? 0) < PAGES);
  });

  it('names what is missing and was not', async () => {
    const { omitted, text } = await answered(files => rmSync(files.at(-1) ?? ''));
    assert.equal(omitted, 1);
    assert.match(text, new RegExp(`<omitted curl="${pageOf(PAGES - 1)}" seq="${PAGES}">missing</omitted>`));
  });
});
