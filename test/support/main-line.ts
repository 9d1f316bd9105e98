/** The whole main line, killed at a durable step and compared with the run that was not. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { lifeWithKill, type KillEnv } from './kills.js';
import { type Holdings, Lcc, urlTag } from './lcc.js';
import { TestSite } from './site.js';

const PAGES = 8;
const page = (n: number) => `p${n}.html`;

/** A site's life: eight pages and a url that is wrong; two change, one goes, one comes; at last all but four go. */
async function live(env: KillEnv): Promise<Holdings> {
  const site = await TestSite.listen();
  const lcc = new Lcc(`${site.url}/`);
  try {
    for (let n = 1; n <= PAGES; n++) site.pages.set(`/${page(n)}`, `page ${n}`);
    await lcc.addProvider();
    lcc.launch(env);
    const all = Array.from({ length: PAGES }, (_, i) => urlTag(page(i + 1)));
    await lcc.deliver('partial', [...all, urlTag('missing.html')]);
    await lcc.idle();
    await lcc.look();
    await lcc.idle();

    site.pages
      .set(`/${page(1)}`, 'page 1, changed')
      .set(`/${page(2)}`, 'page 2, changed')
      .set('/new.html', 'new');
    const changes = [page(1), page(2), 'new.html'].map(name => urlTag(name, ' mtime="2026-11-20T10:13:01Z"'));
    await lcc.deliver('partial', [...changes, urlTag(page(3), ' op="delete"')]);
    await lcc.idle();

    await lcc.deliver(
      'full',
      [page(1), page(4), page(5), 'new.html'].map(name => urlTag(name, ' len="1"')),
    );
    await lcc.idle();
    await lcc.freed();
    assert.deepEqual([...lcc.reported], ['404 missing.html']);
    return await lcc.holdings();
  } finally {
    await lcc.remove();
    site.close();
  }
}

/**
 * Tests that kill a process at each of these steps, once; `lccd` brings it back, the CP repeats what was not accepted.
 * @param steps of docs/design/durability.md, such that a partial set, changes and a full set pass through
 */
export function survivesKillsAt(steps: readonly string[]): void {
  describe('a process killed at a durable step changes nothing in the end', { concurrency: 2 }, () => {
    let expected: Holdings;

    before(async () => {
      expected = await live({});
      assert.equal(expected.rows.length, 4);
      assert.equal(expected.files, 4);
    });

    for (const step of steps) {
      it(`killed at ${step}`, async () => {
        const held = await lifeWithKill(step, live);
        assert.deepEqual(held.rows, expected.rows);
        assert.ok(held.files >= expected.files, 'a file is missing');
      });
    }
  });
}
