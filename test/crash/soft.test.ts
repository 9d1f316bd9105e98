/** lccd-soft killed at each durable step, with a rail that is down: the last publication is everywhere, and nothing else is. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { killAt } from '../support/kills.js';
import { noRails } from '../support/rails.js';
import { SoftHome } from '../support/soft.js';
import { until } from '../support/until.js';

const homes: SoftHome[] = [];
after(() => Promise.all(homes.map(home => home.end())));

const URLS = Array.from({ length: 25 }, (_, i) => `/news/p${i}.html`);

describe('a kill of lccd-soft', { skip: noRails, concurrency: 3 }, () => {
  for (const step of [
    'clear.soft.named:3',
    'clear.soft.generated:5',
    'clear.soft.spooled:2',
    'clear.page.sent:1',
    'clear.page.sent:30',
    'clear.batch.committed:2',
    'clear.soft.done:4',
    'clear.soft.failed:1',
    'clear.rail.down',
  ])
    it(`after ${step} loses no publication, and leaves no generated name`, async () => {
      const home = new SoftHome({
        commit_requests: 8,
        backoff_min_ms: 10,
        backoff_max_ms: 50,
      });
      homes.push(home);
      const balancer = await home.begin(['nginx', 'apache', 'nginx']);
      const last = home.rails[2] ?? assert.fail();
      for (const rail of home.rails) rail.write(URLS);
      await last.stop();
      let asked = 0;
      balancer.answer = url => (++asked % 7 === 1 ? { status: 503 } : { body: `new ${url}` });
      home.publish(...URLS);
      const { env } = killAt(step);
      assert.equal(await home.startSoft(env).ended, 'SIGKILL');
      home.startSoft(env);
      await home.untilPublished();
      await last.start();
      home.db.rails.setByAdmin('r3', 'UP', Date.now());
      // Names on a rail that was down are cleared as any other page is.
      home.startHard();
      await home.untilPublished();
      await home.untilClear();
      await until('no generated name is noted', () => home.db.soft.generated().length === 0);
      for (const url of URLS) assert.deepEqual(new Set(home.contents(url)), new Set([`new ${url}`]));
      for (const rail of home.rails) assert.deepEqual(rail.pages(), URLS.toSorted(), rail.name);
      await until('no content is left', () => readdirSync(join(home.dir, 'clear/bodies')).length === 0);
    });
});
