/** The lines of docs/guide/keeping.md, in their order. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { freePort } from '../support/free-port.js';
import { Lcc, startLcc, urlTag } from '../support/lcc.js';
import { TestSite } from '../support/site.js';
import { readProjectFile } from '../support/tree.js';

/** Blocks of a page that are set off, in their order. */
const blocksOf = (page: string) =>
  (readProjectFile(`docs/guide/${page}.md`).match(/(?:^ {4}.*\n)+/gm) ?? []).map(block =>
    block.replace(/^ {4}/gm, '').trimEnd(),
  );

describe('the guide on keeping an LCC', () => {
  const blocks = blocksOf('keeping');
  const used = new Set<string>();
  let site: TestSite;
  let lcc: Lcc;
  let place: string;

  before(async () => {
    site = await TestSite.listen();
    lcc = await startLcc(`${site.url}/`);
    place = join(lcc.dir, 'place');
    for (const dir of ['backup', 'srv', 'big']) mkdirSync(join(place, dir), { recursive: true });
    await lcc.publish(site, { 'a.html': 'page a', 'docs/b.html': 'page b' });
  });
  after(async () => {
    await lcc?.remove();
    site?.close();
  });

  /** The block with these words, with the folders of the test. */
  const block = (words: RegExp) => {
    const found = blocks.filter(each => words.test(each));
    assert.equal(found.length, 1, String(words));
    used.add(found[0] ?? '');
    return (found[0] ?? '').replaceAll(/(?<=[ ="])\/(?=(?:backup|srv|big)\/)/g, `${place}/`);
  };
  const run = (words: RegExp) => lcc.run(block(words));

  it('backs up, by hand and each day', async () => {
    await run(/^lccctl backup \/backup\/lcc$/);
    await run(/date \+%F/);
    assert.equal(readdirSync(join(place, 'backup')).length, 2);
  });

  it('restores, and the LCC of then runs', async () => {
    const [restore = '', start = ''] = block(/lccctl restore \/backup\/lcc\n/).split('\n');
    await lcc.run(restore);
    // The settings of the backup have the socket of the LCC that runs.
    const { stdout } =
      await lcc.sh(`${start} --listen=unix:${place}/uns.sock & until LCC_HOME=${place}/srv/lcc lccstat >/dev/null 2>&1; do :; done
      LCC_HOME=${place}/srv/lcc lccq --format=tar | tar -xO; kill %1; wait`);
    assert.equal(stdout, 'page apage b');
    assert.equal((await lcc.sh(`LCC_HOME=${place}/srv/lcc lccfsck`)).status, 0);
  });

  it('moves', async () => {
    rmSync(join(place, 'srv/lcc'), { recursive: true });
    await lcc.run('lccq --cursor=$LCC_HOME/index.cursor -- cat');
    await lcc.publish(site, { 'c.html': 'page c' });
    await lcc.stop();
    await run(/^lccctl backup \/backup\/lcc-move$/);
    await run(/--moved/);
    const moved = `${place}/srv/lcc`;
    const news = await lcc.run(
      `LCC_HOME=${moved} lccq --cursor=${moved}/index.cursor --format=tsv --fields=curl`,
    );
    assert.match(news, /^\S+\/c\.html$/m);
    assert.doesNotMatch(news, /a\.html/);
    assert.equal((await lcc.sh(`LCC_HOME=${place}/srv/lcc lccfsck`)).status, 0);
    await lcc.start();
  });

  it('has the content on another disk', async () => {
    await lcc.stop();
    await run(/^mv \$LCC_HOME\/store/);
    lcc.configure(block(/^lccd\.store =/));
    await lcc.start();
    assert.equal(await lcc.run('lccq --format=tar | tar -xO'), 'page apage bpage c');
    await lcc.deliver('partial', [urlTag('a.html')]);
    await lcc.idle();
  });

  it('carries pages to another LCC', async () => {
    await run(/^lccq --format=tar/);
    const port = await freePort();
    const other = new Lcc(`http://127.0.0.1:${port}/`);
    try {
      await lcc.run(`cp pages.tar ${other.dir}`);
      const adapted = (words: RegExp) =>
        block(words).replaceAll('8080', String(port)).replaceAll('localhost:9000', other.uns);
      const unpack = adapted(/tar -xf pages\.tar/);
      const [, add = ''] = adapted(/^lccd --allow-address/).split('\n');
      const announce = adapted(/^file2url --docroot pages/);
      await other.start();
      const script = `${unpack}\n${add}\nuntil python3 -c 'import urllib.request as u; u.urlopen("http://127.0.0.1:${port}/")' 2>/dev/null; do :; done
        ${announce}\nlccstat --until-idle=30; kill %1`;
      const { status, stderr } = await other.sh(script);
      assert.equal(status, 0, stderr);
      const held = 'lccq --format=tsv --fields=curl,md5 | sort';
      assert.equal(await other.run(held), await lcc.run(held));
    } finally {
      await other.remove();
    }
  });

  it('takes a site out', async () => {
    await lcc.addProvider(7, `${site.url}/seven/`);
    site.pages.set('/seven/1', 'one').set('/seven/2', 'two');
    await lcc.run(`printf '%s\\n' '${urlTag('1')}' '${urlTag('2')}' >seven`);
    const password = (await lcc.run('lccpidb passwd --pid=7')).trim();
    await lcc.run(
      `LCC_PWD=${password} lcccp -q --uns=${lcc.uns} --pid=7 --urlprefix=${site.url}/seven/ <seven`,
    );
    await lcc.idle();
    const asked = await lcc.sh(block(/--purge$/));
    assert.match(asked.stderr, /--purge=2/);
    await run(/--purge=2$/);
    await lcc.shows('lccq --pid=7 --no-deleted --count', /^0\n$/);
  });

  it('has no line that is not tried here', () => {
    assert.deepEqual(
      blocks.filter(each => !used.has(each)),
      [],
    );
  });
});
