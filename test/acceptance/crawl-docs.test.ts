/** A real tree, Debian's linux-doc, crawled by the commands of lcclinks(1): what wget -m finds, each file asked for once. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { canonicalUrl } from '../../src/wire/canonical-url.js';
import { CrawlService } from '../support/crawl-service.js';
import { Lcc } from '../support/lcc.js';
import { noNginx, startSite, type Site } from '../support/nginx.js';

const DOCS = '/usr/share/doc';
const folder = existsSync(DOCS) ? readdirSync(DOCS).find(name => /^linux-doc-\d/.test(name)) : undefined;
const noDocs = folder === undefined && 'no linux-doc';
const noWget = spawnSync('wget', ['--version']).error !== undefined && 'no wget';
/** Until nothing more comes: thousands of files. */
const CRAWLED_S = 900;

describe('a crawl of linux-doc', { skip: noNginx || noWget || noDocs }, () => {
  let dir: string;
  let site: Site;
  let lcc: Lcc;
  let service: CrawlService;

  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'lcc-crawl-docs-'));
    site = await startSite(join(DOCS, folder ?? '', 'html'), join(dir, 'nginx'));
    lcc = new Lcc(site.url);
    await lcc.start();
    await lcc.run(`lccpidb add --pid=100 --root=${site.url} --spider=yes --pace=0`);
    // As wget: rel=nofollow of single links is not obeyed, and Sphinx writes it at the source of each page.
    service = new CrawlService(lcc, ['--assets', '--nofollow=page']);
  });
  after(async () => {
    await service?.stop();
    await lcc?.remove();
    await site?.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  const asked = async () => {
    const lines = (await site.requests()).filter(
      line => line.startsWith('GET ') && !line.includes(' /robots.txt '),
    );
    return lines.map(line => {
      const [, path = '', , status] = line.split(' ');
      return { path, status };
    });
  };
  const named = (list: Awaited<ReturnType<typeof asked>>) =>
    list.map(({ path, status }) => `${path} ${status}`).sort();

  it('asks for exactly what wget -m asks for, each once, and holds what was there', async () => {
    spawnSync('wget', ['-q', '-m', '-P', join(dir, 'wget'), `${site.url}index.html`]);
    // wget takes `x.eot?` and `x.eot` for two urls; one form of a url has no empty query (wire/canonical-url).
    const forms = (await asked()).map(({ path, status }) => ({
      path: canonicalUrl(path, site.url)?.curl.slice(site.url.length - 1) ?? path,
      status,
    }));
    const ofWget = [...new Set(named(forms))];
    assert.ok(ofWget.length > 1000);
    await site.forgetRequests();
    await lcc.run(`echo ${site.url}index.html | lcclinks --seeds --deliver`);
    await lcc.run(`lccstat --until-idle=${CRAWLED_S} --cursor=links.cursor`);
    assert.deepEqual(named(await asked()), ofWget);
    assert.equal(
      (await lcc.run('lccq --count')).trim(),
      String(ofWget.filter(line => line.endsWith(' 200')).length),
    );
  });
});
