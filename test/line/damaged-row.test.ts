/** A row of content that cannot be: lccq says what to do, and that has the page fetched again. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { spoil } from '../support/damage.js';
import { noNginx, startSite, type Site } from '../support/nginx.js';
import { type Lcc, startLcc, urlTag } from '../support/lcc.js';

const PAGES = ['a.html', 'b.html', 'c.html'];

describe('content whose row is damaged', { skip: noNginx }, () => {
  let scratch = '';
  let site: Site;
  let lcc: Lcc;
  before(async () => {
    scratch = mkdtempSync(join(tmpdir(), 'lcc-damaged-row-'));
    mkdirSync(join(scratch, 'docs'));
    for (const page of PAGES) writeFileSync(join(scratch, 'docs', page), `<p>${page}</p>`);
    site = await startSite(join(scratch, 'docs'), join(scratch, 'nginx'));
    lcc = await startLcc(site.url);
    await announce();
  });
  after(async () => {
    await lcc?.remove();
    await site?.stop();
    rmSync(scratch, { recursive: true, force: true });
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
      PAGES.map(page => site.url + page),
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
      PAGES.map(page => site.url + page),
    );
  });
});
