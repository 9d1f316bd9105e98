/** A row of content that cannot be: lccq says what to do, and that has the page fetched again. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { spoil } from '../support/damage.js';
import { type Lcc, startLcc, urlTag } from '../support/lcc.js';
import { TestSite } from '../support/site.js';

const PAGES = ['a.html', 'b.html', 'c.html'];

describe('content whose row is damaged', () => {
  let site: TestSite;
  let lcc: Lcc;
  before(async () => {
    site = await TestSite.listen();
    for (const page of PAGES) site.pages.set(`/${page}`, `<p>${page}</p>`);
    lcc = await startLcc(site.urlOf('/'));
    await announce();
  });
  after(async () => {
    await lcc?.remove();
    site.close();
  });

  const announce = async (set = 'partial') => {
    const tags = PAGES.map(page => urlTag(page, ` len="${page.length + 7}"`));
    await lcc.announce(tags, `--set=${set}`);
    await lcc.idle();
  };
  const held = async () => (await lcc.run('lccq --format=tar --cursor=c | tar xO')).match(/[abc]\.html/g);

  it('ends lccq with what to do; the repair lets go of the row, and its provider’s full set brings the page back', async () => {
    await lcc.stop();
    spoil(join(lcc.home, 'lcc.db'), "UPDATE lccurl SET md5 = CAST(md5 AS BLOB) WHERE curl LIKE '%b.html'");
    const { status, stderr } = await lcc.sh('lccq --format=tar | tar t');
    assert.notEqual(status, 0);
    assert.match(stderr, /^lccq: .*database damaged \(.*\); stop lccd and run lccfsck --repair$/m);
    const repaired = await lcc.sh('lccfsck --repair');
    assert.equal(repaired.status, 0, `${repaired.stdout}${repaired.stderr}`);
    assert.deepEqual(await held(), ['a.html', 'c.html']);
    await lcc.start();
    assert.match(await lcc.run('lccstat'), /^! a full set is wanted of 1 provider/m);
    await announce('full');
    assert.deepEqual(
      (await lcc.run('lccq --format=urls')).trim().split('\n').sort(),
      PAGES.map(page => lcc.root + page),
    );
  });

  it('is found by the Queue Manager itself when it is announced, and comes back in the same way', async () => {
    await lcc.stop();
    spoil(join(lcc.home, 'lcc.db'), "UPDATE lccurl SET md5 = CAST(md5 AS BLOB) WHERE curl LIKE '%c.html'");
    await lcc.start();
    await lcc.announce([urlTag('c.html', ' len="1"')]);
    await lcc.shows('lccstat', /^! a full set is wanted of 1 provider/m);
    await lcc.idle();
    await announce('full');
    assert.deepEqual(
      (await lcc.run('lccq --format=urls')).trim().split('\n').sort(),
      PAGES.map(page => lcc.root + page),
    );
  });
});
