import assert from 'node:assert/strict';
import { readdirSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { killAt } from '../support/kills.js';
import { Lcc, urlTag } from '../support/lcc.js';
import { TestSite } from '../support/site.js';
import { until } from '../support/until.js';

const PAGES = 6;

/** Content suffers while the LCC is down, as in a power cut; on its way to a sync point a process is killed. */
async function suffer(crashAt: string): Promise<void> {
  const site = await TestSite.listen();
  const lcc = new Lcc(`${site.url}/`);
  try {
    for (let n = 1; n <= PAGES; n++) site.pages.set(`/p${n}.html`, `page ${n}`);
    await lcc.addProvider();
    lcc.configure('qm.sync_interval_ms = "1h"\n');
    await lcc.start();
    await lcc.deliver(
      'partial',
      [...site.pages.keys()].map(path => urlTag(path.slice(1))),
    );
    await lcc.idle();
    const before = await lcc.holdings();
    await lcc.stop();

    const folder = join(lcc.home, 'store/00/00');
    const [first = '', second = ''] = readdirSync(folder).toSorted();
    truncateSync(join(folder, first), 0);
    rmSync(join(folder, second));

    lcc.configure('qm.sync_interval_ms = 100\nqm.check_window = 2\n');
    const { env, happened } = killAt(crashAt);
    lcc.launch(env);
    await until(`death at ${crashAt}`, happened);
    await lcc.idle();
    assert.deepEqual((await lcc.holdings()).rows, before.rows);
    await lcc.stop();
    // A killed process may leave a file that no row points to; nothing else may be amiss, and that once.
    await lcc.run('lccfsck -q --repair');
    assert.equal(await lcc.run('lccfsck -q'), '');
  } finally {
    await lcc.remove();
    site.close();
  }
}

describe('damaged content is found and fetched again, whichever daemon is killed meanwhile', () => {
  for (const step of ['qm.refetch.committed', 'qm.synced.noted', 'bm.store.synced']) {
    it(`killed at ${step}`, () => suffer(step));
  }
});
