/** `lccctl backup` while pages come, change and go as fast as they are taken. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import { openSqlite } from '../../src/lib/sqlite.js';
import { runCommandLater } from '../support/command.js';
import { startLcc, urlTag } from '../support/lcc.js';
import { isLong } from '../support/long.js';
import { Restored } from '../support/restored.js';
import { TestSite } from '../support/site.js';
import { until } from '../support/until.js';

it('under load lacks nothing that was accepted before, and lccfsck finds nothing in it', async () => {
  const site = await TestSite.listen();
  const lcc = await startLcc(`${site.url}/`);
  const expected = new Set<string>();
  /** Since a backup was begun: one that goes before it was fetched leaves no row. */
  const left = new Set<string>();
  let round = 0;
  const over = new AbortController();
  // Pages come, change and go, as fast as they are taken.
  const load = (async () => {
    while (!over.signal.aborted) {
      const names = Array.from({ length: 20 }, (_, i) => `n${(round * 7 + i) % 200}`);
      for (const name of names) site.pages.set(`/${name}`, `${name} of round ${round}`);
      const gone = `n${(round * 7 + 60) % 200}`;
      left.add(gone);
      await lcc.deliver('partial', [...names.map(name => urlTag(name)), urlTag(gone, ' op="delete"')]);
      for (const name of names) expected.add(name);
      expected.delete(gone);
      round++;
    }
  })();
  try {
    await until('some sets are accepted', () => round > 2);
    const rounds = isLong ? 12 : 1;
    for (let i = 0; i < rounds; i++) {
      const begun = [...expected];
      left.clear();
      assert.ok(begun.length > 0);
      const dir = join(lcc.dir, `backup-${i}`);
      const made = await runCommandLater(lcc.home, 'lccctl', ['backup', dir]);
      assert.equal(made.status, 0, made.stderr);
      const one = new Restored(`${site.url}/`);
      try {
        const done = one.restore(dir);
        assert.equal(done.status, 0, done.stderr);
        // What waits there is fetched from the same site; what was taken before the backup is held then.
        await one.start();
        await one.idle();
        await one.stop();
        one.isClean();
        const db = openSqlite(join(one.home, 'lcc.db'), { readonly: true });
        const known = new Set(
          db
            .prepare<[], string>(
              'SELECT curl FROM lccurl UNION SELECT curl FROM tombstone UNION SELECT curl FROM qdb',
            )
            .pluck()
            .all()
            .map(curl => curl.replace(lcc.root, '')),
        );
        db.close();
        assert.deepEqual(
          begun.filter(name => !known.has(name) && !left.has(name)),
          [],
        );
        const wrong = (await one.holdings()).rows.filter(row => row.includes('but said'));
        assert.deepEqual(wrong, []);
      } finally {
        await one.remove();
      }
    }
  } finally {
    over.abort();
    await load;
    await lcc.remove();
    site.close();
  }
});
