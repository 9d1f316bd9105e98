import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { noNginx, startSite, type Site } from '../support/nginx.js';
import { fetchOnce, newEngine, newFolder, verdict } from './support.js';

const MODIFIED = new Date('1994-11-06T08:49:37Z');

describe('a robot at nginx', { skip: noNginx }, () => {
  const dir = newFolder();
  const pages = {
    'small.html': Buffer.from('<p>small</p>\n'.repeat(100)),
    'large.html': Buffer.from('<p>a page that is much larger once it is decoded</p>\n'.repeat(15_000)),
    'empty.html': Buffer.alloc(0),
  };

  let site: Site;
  before(async () => {
    const docroot = join(dir, 'www');
    mkdirSync(docroot);
    for (const [name, content] of Object.entries(pages)) {
      writeFileSync(join(docroot, name), content);
      utimesSync(join(docroot, name), MODIFIED, MODIFIED);
    }
    site = await startSite(docroot, join(dir, 'nginx'), {
      location: 'if ($uri = /moved) { return 301 /small.html; }',
      server: 'gzip on; gzip_min_length 10;',
    });
  });
  after(() => site?.stop());

  for (const [name, content] of Object.entries(pages)) {
    it(`stores ${name} decoded, with its validators, and finds it unchanged by either of them`, async () => {
      const engine = newEngine();
      const job = { url: `${site.url}${name}`, file: join(newFolder(), 'x'), mimetype: 'text/html' };
      const first = await fetchOnce(engine, job);
      assert.ok(first.status === 'ok', JSON.stringify(first));
      assert.ok(readFileSync(job.file).equals(content));
      assert.equal(first.md5, createHash('md5').update(content).digest('hex'));
      assert.equal(first.lastModified, 'Sun, 06 Nov 1994 08:49:37 GMT');
      if (content.length > 0) assert.ok(first.wireBytes < content.length, 'it travelled compressed');
      const { lastModified, etag } = first;
      assert.ok(etag !== undefined);
      assert.equal(verdict(await fetchOnce(engine, { ...job, lastModified })), 'unchanged');
      assert.equal(verdict(await fetchOnce(engine, { ...job, etag })), 'unchanged');
      assert.equal(verdict(await fetchOnce(engine, { ...job, etag: '"other"' })), 'ok');
    });
  }

  it('has no validator of what is newer than the answer: its ETag is that time and the length', async () => {
    const later = new Date(Date.now() + 60_000);
    writeFileSync(join(dir, 'www/now.html'), 'now');
    utimesSync(join(dir, 'www/now.html'), later, later);
    const found = await fetchOnce(newEngine(), { url: `${site.url}now.html`, file: join(newFolder(), 'x') });
    assert.ok(found.status === 'ok');
    assert.deepEqual([found.lastModified, found.etag], [undefined, undefined]);
    assert.equal(Date.parse(found.modifiedNow ?? ''), Math.floor(later.getTime() / 1000) * 1000);
  });

  it('follows its redirect and believes its 404', async () => {
    const engine = newEngine();
    const file = join(newFolder(), 'x');
    const moved = await fetchOnce(engine, { url: `${site.url}moved`, file });
    assert.ok(moved.status === 'ok' && moved.finalUrl === `${site.url}small.html`);
    assert.equal(verdict(await fetchOnce(engine, { url: `${site.url}nothing`, file })), 404);
  });
});
