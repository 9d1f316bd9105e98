/** What readers see of rails while lccd-soft replaces a large page again and again: A7. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { request } from 'undici';
import { noRails } from '../support/rails.js';
import { SoftHome } from '../support/soft.js';

/** A thousand in the long set (scripts/test-sets.mjs). */
const PUTS = Number(process.env['LCC_TEST_CLEAR_PUTS'] ?? 20);
const READERS = 4;
const SIZE = 2_000_000;

const homes: SoftHome[] = [];
after(() => Promise.all(homes.map(home => home.end())));

describe('readers of a page that is replaced softly', { skip: noRails }, () => {
  it('see it whole, old or new; no generated name is left, and its neighbour stays (A7)', async t => {
    const home = new SoftHome();
    homes.push(home);
    const balancer = await home.begin(['apache', 'nginx']);
    const letters = Array.from('abcdefgh', letter => Buffer.alloc(SIZE, letter));
    const pageOf = (version: number) => letters[version % letters.length] ?? assert.fail();
    for (const rail of home.rails) {
      rail.write(['/page.html'], pageOf(0).toString());
      rail.write(['/page-sports.html']);
    }
    let version = 0;
    balancer.answer = () => ({ body: pageOf(version) });
    await home.startSoft().ready;
    const over = new AbortController();
    /** Of each rail: the letters that were read. */
    const seen = home.rails.map(() => new Set<number>());
    let reads = 0;
    const read = async (url: string, letterOf: Set<number>) => {
      while (!over.signal.aborted) {
        // A connection each: Apache closes those that are kept when its workers are busy, with a request already on the way.
        const { statusCode, body } = await request(url, { reset: true });
        assert.equal(statusCode, 200, 'a page that is missing');
        const bytes = Buffer.from(await body.arrayBuffer());
        const whole = letters.find(letter => letter[0] === bytes[0]);
        assert.ok(whole?.equals(bytes), 'a torn page');
        letterOf.add(bytes[0] ?? 0);
        reads++;
      }
    };
    const readers = home.rails.flatMap((rail, i) =>
      Array.from({ length: READERS }, () => read(`${rail.url}page.html`, seen[i] ?? assert.fail())),
    );
    // A reader that fails ends the test at once.
    const failed = Promise.all(readers);
    failed.catch(() => undefined);
    const publishing = (async () => {
      while (version < PUTS) {
        version++;
        home.publish('/page.html');
        await home.untilPublished();
      }
    })();
    await Promise.race([publishing, failed]);
    over.abort();
    await failed;
    t.diagnostic(`${reads} pages read`);
    for (const [i, rail] of home.rails.entries()) {
      assert.deepEqual(rail.pages(), ['/page-sports.html', '/page.html']);
      const { state, reason } = home.db.rails.get(rail.name) ?? assert.fail();
      assert.equal(state, 'UP', `${rail.name}: ${reason}`);
      const puts = (await rail.requests(2 * PUTS)).filter(line => line.startsWith('PUT '));
      assert.deepEqual(puts, Array<string>(PUTS).fill('PUT /page.html 204'), rail.name);
      const found = home.contents('/page.html')[i] ?? '';
      assert.ok(found === pageOf(PUTS).toString(), `${rail.name} has ${found.length} times ${found[0]}`);
    }
    assert.deepEqual(home.db.soft.generated(), []);
    assert.ok(
      seen.every(({ size }) => size > 1),
      'readers of each rail have seen the page change',
    );
  });
});
