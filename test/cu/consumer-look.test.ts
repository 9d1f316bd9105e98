import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { consumerLook } from '../../src/cu/consumer-look.js';
import { TestCache } from '../support/cache.js';

it('a consumer has taken everything when its cursor is at the last change', () => {
  const cache = new TestCache();
  try {
    const file = join(cache.home, 'links.cursor');
    const taken = consumerLook(cache.dbPath, file);
    assert.equal(taken(), undefined);
    const store = cache.storeId;
    const moveTo = (seq: number) => writeFileSync(file, `lcc-cursor 1 ${store} ${seq}\n`);
    moveTo(0);
    assert.equal(taken(), 0);
    cache.put({ curl: 'http://x/1' });
    assert.equal(taken(), undefined);
    moveTo(1);
    assert.equal(taken(), 1);
    moveTo(2);
    assert.throws(() => taken(), /ahead of the store/);
  } finally {
    cache.close();
  }
});
