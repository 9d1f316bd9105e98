/** A database that its reader may read, and the folder of which it may not write to. */
import assert from 'node:assert/strict';
import { chmodSync, readdirSync, rmSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { openDatabase } from '../../src/db/sqlite/open.js';
import { TestCache } from '../support/cache.js';
import { runCommand } from '../support/command.js';
import { noOtherUser, OTHER_USER } from '../support/other-user.js';

describe('a reader of another user', { skip: noOtherUser() }, () => {
  let cache: TestCache;
  before(() => {
    cache = new TestCache();
    cache.put({ curl: 'http://www.example.org/a', mimetype: 'text/html' });
    cache.db.close();
    chmodSync(cache.home, 0o755);
    for (const name of readdirSync(cache.home))
      if (name.startsWith('lcc.db')) chmodSync(`${cache.home}/${name}`, 0o644);
  });
  after(() => rmSync(cache.home, { recursive: true, force: true }));

  const count = () => runCommand(cache.home, 'lccq', ['--count'], OTHER_USER);

  it('reads it while nobody has it open', () => {
    assert.deepEqual([count().status, count().stdout], [0, '1\n']);
  });

  it('reads it while a writer has it open', () => {
    const db = openDatabase(cache.dbPath);
    assert.deepEqual([count().status, count().stdout], [0, '1\n']);
    db.close();
  });
});
