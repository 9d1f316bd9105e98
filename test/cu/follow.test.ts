import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runInSlices } from '../../src/cu/follow.js';
import { formatNamed } from '../../src/cu/formats/index.js';
import { LocalSource } from '../../src/cu/source.js';
import { TestCache } from '../support/cache.js';

describe('a batch of who follows', () => {
  it('ends at what was there when it began, however fast more is committed', async () => {
    const cache = new TestCache();
    const source = new LocalSource(cache.dbPath, 'local');
    try {
      cache.put({ curl: 'http://x/0' });
      let more = 0;
      let text = '';
      const { records, reachedSeq } = await runInSlices(
        source,
        {
          selection: { sides: ['held'] },
          format: formatNamed('urls'),
          storeDir: cache.store,
          maxTextBytes: 1024 * 1024,
          nowMs: 0,
        },
        () => ({ write: chunk => void (text += Buffer.from(chunk).toString()) }),
        new AbortController().signal,
        {
          reject: message => assert.fail(message),
          note: () => undefined,
          advance: () => {
            if (++more < 50) cache.put({ curl: `http://x/${more}` });
          },
        },
      );
      assert.deepEqual([text, records, reachedSeq], ['http://x/0\n', 1, 1]);
    } finally {
      source.close();
      cache.close();
    }
  });
});
