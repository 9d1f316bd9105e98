/** What was announced and what comes: a site that is late, a cache in front of it, a site that never serves what it says. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { noNginx, startSite, type Site } from '../support/nginx.js';
import { type Lcc, startLcc, urlTag } from '../support/lcc.js';

const md5Of = (content: string) => createHash('md5').update(content).digest('hex');

describe('a site that does not serve what was announced', { skip: noNginx }, () => {
  let scratch = '';
  let origin: Server;
  /** A cache that keeps each page for an hour, and looks at its origin when a client asks for that. */
  let site: Site;
  let lcc: Lcc;
  const pages = new Map<string, string>();
  let asked: string[] = [];

  before(async () => {
    scratch = mkdtempSync(join(tmpdir(), 'lcc-announced-'));
    const socket = join(scratch, 'origin.sock');
    origin = createServer((request, response) => {
      const path = request.url ?? '';
      asked.push(path);
      const content = pages.get(path) ?? '';
      const etag = `"${md5Of(content)}"`;
      response.setHeader('content-type', 'text/html').setHeader('etag', etag);
      if (request.headers['if-none-match'] === etag) response.writeHead(304).end();
      else response.end(content);
    });
    await new Promise<void>(resolve => void origin.listen(socket, resolve));
    mkdirSync(join(scratch, 'docs'));
    site = await startSite(join(scratch, 'docs'), join(scratch, 'nginx'), {
      http: `proxy_cache_path ${scratch}/cache keys_zone=pages:1m; upstream origin { server unix:${socket}; }`,
      location: `proxy_pass http://origin; proxy_cache pages; proxy_cache_valid 200 1h;
        proxy_cache_bypass $http_cache_control; add_header x-cache $upstream_cache_status;`,
    });
    lcc = await startLcc(site.url, '[qm]\nretries = 0\n');
  });
  after(async () => {
    await lcc?.remove();
    await site?.stop();
    origin?.closeAllConnections();
    origin?.close();
    rmSync(scratch, { recursive: true, force: true });
  });
  beforeEach(() => void (asked = []));

  const announce = async (urls: Record<string, string>, set: 'partial' | 'full' = 'partial') => {
    const tags = Object.entries(urls).map(([page, words]) => urlTag(page, ` ${words}`));
    await lcc.announce(tags, `--set=${set}`);
    await lcc.idle();
  };
  const held = async (page: string) => {
    const rows = (await lcc.run('lccq --format=jsonl --fields=curl,md5,seq')).trim().split('\n');
    const found = rows.map(row => JSON.parse(row) as { curl: string; md5: string; seq: number });
    return found.find(({ curl }) => curl === site.url + page);
  };

  it('and is late is asked again when the same is announced again, also in a full set', async () => {
    for (const set of ['partial', 'full'] as const) {
      const [before, after] = [`before ${set}`, `after ${set}`];
      pages.set('/late.html', before);
      await announce({ 'late.html': `md5="${md5Of(before)}"` });
      await announce({ 'late.html': `md5="${md5Of(after)}"` });
      assert.equal((await held('late.html'))?.md5, md5Of(before));
      pages.set('/late.html', after);
      await announce({ 'late.html': `md5="${md5Of(after)}"` }, set);
      assert.equal((await held('late.html'))?.md5, md5Of(after));
    }
  });

  it('and never will is asked twice for the same announcement, and no index is told of what came again', async () => {
    pages.set('/wrong.html', 'as it is served');
    const words = `md5="${md5Of('as it lies on the disk')}" len="22" mtime="2026-11-20T10:13:01Z"`;
    await announce({ 'wrong.html': words });
    const first = await held('wrong.html');
    for (let i = 0; i < 3; i++) await announce({ 'wrong.html': words });
    assert.deepEqual(asked, ['/wrong.html', '/wrong.html']);
    assert.deepEqual(await held('wrong.html'), first);
  });

  it('for a cache in front of it has what was there before: the cache is asked to look', async () => {
    pages.set('/cached.html', 'before');
    for (const expected of ['MISS', 'HIT']) {
      const answer = await fetch(`${site.url}cached.html`);
      assert.equal(answer.headers.get('x-cache'), expected);
      await answer.text();
    }
    pages.set('/cached.html', 'after');
    await announce({ 'cached.html': `md5="${md5Of('after')}"` });
    assert.equal((await held('cached.html'))?.md5, md5Of('after'));
    // Nothing is said of it: it is asked for conditionally, through the cache.
    pages.set('/cached.html', 'last');
    await announce({ 'cached.html': '' });
    assert.equal((await held('cached.html'))?.md5, md5Of('last'));
  });

  it('is given what it said, or an error, when that is enforced', async () => {
    pages.set('/strict.html', 'served');
    const words = `md5="${md5Of('announced')}"`;
    for (let i = 0; i < 2; i++) await announce({ 'strict.html': words });
    await lcc.run('lccpidb set --pid=1 --enforce=yes');
    await announce({ 'strict.html': words });
    assert.equal(await held('strict.html'), undefined);
    assert.match(
      (await lcc.sh(`lcccp --status --uns=${lcc.uns} --pid=1`)).stdout,
      /612[^\n]*strict\.html|strict\.html[^\n]*612/,
    );
  });
});
