import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestCache } from '../support/cache.js';
import { ask, startCu } from '../support/cu.js';
import { damagePages } from '../support/damage.js';

test('lccd-cu names a database that is damaged while it serves, and what to do', async () => {
  const cache = new TestCache();
  for (let i = 0; i < 100; i++) cache.put({ curl: `http://www.example.org/${i}` });
  const daemon = await startCu(cache);
  try {
    assert.match(await ask(daemon.unix, '<query/>'), /<\/lococa:result>/);
    damagePages(cache.dbPath);
    assert.match(await ask(daemon.unix, '<query/>'), /code="102"/);
  } finally {
    await daemon.stop();
    cache.close();
  }
  assert.match(daemon.log, /lcc\.db: database damaged \([^"]*\); stop lccd and run lccfsck --repair"/);
});
