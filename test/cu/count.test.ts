import assert from 'node:assert/strict';
import { it } from 'node:test';
import { deliverFrom } from '../../src/cu/deliver.js';
import { formatNamed } from '../../src/cu/formats/index.js';
import { LocalSource } from '../../src/cu/source.js';
import { systemClock } from '../../src/lib/clock.js';
import { TestCache } from '../support/cache.js';

const PAGES = 600;

it('lccq --count counts each page once, however fast pages are replaced meanwhile', async () => {
  const cache = new TestCache();
  const source = new LocalSource(cache.dbPath, 'local');
  try {
    for (let i = 0; i < PAGES; i++) cache.put({ curl: `http://x/${i}` });
    await source.look();
    let said = '';
    const counting = deliverFrom(
      source,
      {
        dbPath: cache.dbPath,
        machineId: 'local',
        query: {
          selection: { sides: ['held'] },
          format: formatNamed('tar'),
          storeDir: cache.store,
          maxTextBytes: 1024 * 1024,
          nowMs: 0,
        },
        follows: false,
        count: true,
      },
      { write: chunk => void (said += String(chunk)), flush: () => Promise.resolve() },
      {
        reject: message => assert.fail(message),
        note: () => undefined,
        explain: () => undefined,
        started: () => undefined,
        ended: () => undefined,
      },
      { clock: systemClock, stop: new AbortController().signal },
    );
    for (let i = 1; i < 50; i++) {
      cache.put({ curl: `http://x/${PAGES - i}`, content: `${i}` });
      await Promise.resolve();
    }
    await counting;
    assert.equal(said, `${PAGES}\n`);
  } finally {
    source.close();
    cache.close();
  }
});
