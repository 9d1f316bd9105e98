/** lccd-hard killed ten times while it clears three rails, one of which is away: A2 at its size. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { ClearHome, idsOf, pagesOf } from '../support/clear.js';
import { noRails } from '../support/rails.js';
import { until } from '../support/until.js';

/** Ten thousand in the long set (scripts/test-sets.mjs). */
const IDS = Number(process.env['LCC_TEST_CLEAR_IDS'] ?? 1000);
/** Requests in memory: what a kill may cost. */
const WINDOW = 100;
/** Entries of a backlog in memory (REPLAYED_PAGES of clear/rails/fleet.ts, and those read ahead). */
const REPLAYED = 512;

const homes: ClearHome[] = [];
after(() => Promise.all(homes.map(home => home.end())));

describe('ten kills of lccd-hard', { skip: noRails }, () => {
  it('leave no page on any rail, with one that is stopped and comes UP between them (A2)', async t => {
    const home = new ClearHome({ commit_requests: 16, window_requests: WINDOW });
    homes.push(home);
    const { db } = home;
    const rails = await home.addRails(['apache', 'nginx', 'apache']);
    const last = rails[2] ?? assert.fail();
    const ids = idsOf(IDS);
    for (const rail of rails) rail.write([...pagesOf(ids), '/news/other.html']);
    await last.stop();
    // Each three times: the first and the last at the ends of the queue.
    home.request([...ids, ...ids, ...ids.toReversed()]);
    const upTo = (most: number) => 1 + Math.floor(Math.random() * most);
    const killedAt: string[] = [];
    const kill = async (step: string, nth: number) => {
      killedAt.push(`${step}:${nth}`);
      const daemon = home.startHard({ LCC_CRASH_AT: `${step}:${nth}` });
      assert.equal(await daemon.ended, 'SIGKILL', killedAt.join(' '));
    };
    for (const step of ['sent', 'committed', 'sent', 'committed', 'sent', 'committed', 'sent'])
      if (step === 'sent') await kill('clear.page.sent', upTo(IDS / 5));
      else await kill('clear.batch.committed', upTo(5));
    assert.ok(db.queue.count(1) > 0, 'killed in the middle');
    const whole = home.startHard();
    await until('nothing is queued', () => db.queue.count(1) === 0);
    assert.equal(await whole.stop('SIGKILL'), 'SIGKILL');
    assert.equal(db.rails.get('r3')?.state, 'DOWN');
    assert.equal(last.pages().length, IDS + 1);
    await last.start();
    db.rails.setByAdmin('r3', 'UP', Date.now());
    for (let i = 0; i < 2; i++) {
      await kill('clear.page.sent', upTo(IDS / 5));
      assert.ok(db.backlog.has('r3', 'D'), 'killed in the replay');
    }
    home.startHard();
    await home.untilClear();
    t.diagnostic(`killed at ${killedAt.join(' ')}, and by hand`);
    for (const rail of rails) {
      assert.deepEqual(rail.pages(), ['/news/other.html'], rail.name);
      const asked = await rail.requests(IDS);
      assert.deepEqual(new Set(asked.map(line => line.split(' ')[1])), new Set(pagesOf(ids)), rail.name);
      const again = rail === last ? 2 * REPLAYED : 8 * WINDOW;
      assert.ok(asked.length <= IDS + again, `${rail.name} was asked ${asked.length} times`);
    }
    assert.deepEqual(db.backlog.counts(), []);
  });
});
