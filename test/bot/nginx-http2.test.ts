import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { noNginx, startSite, type Site } from '../support/nginx.js';
import { Authority } from '../fetch/authority.js';
import { talk } from './lccbot.js';
import { newFolder } from '../fetch/support.js';

const PAGES = 40;

describe('a robot at nginx with HTTP/2', { skip: noNginx }, () => {
  const authority = new Authority();
  const dir = newFolder();
  const large = Buffer.from('<p>a page that is larger than any window of flow control</p>\n'.repeat(60_000));
  let site: Site;

  before(async () => {
    const docroot = join(dir, 'www');
    mkdirSync(docroot);
    for (let n = 0; n < PAGES; n++) writeFileSync(join(docroot, `${n}.html`), `<p>page ${n}</p>`);
    writeFileSync(join(docroot, 'large.html'), large);
    writeFileSync(join(docroot, 'noise.html'), randomBytes(6_000_000).toString('base64'));
    const { keyFile, certFile } = authority.issue();
    site = await startSite(docroot, join(dir, 'nginx'), {
      location: 'if ($uri = /moved) { return 301 /1.html; }',
      // A graceful GOAWAY every seven requests: none of them may fail for it.
      server: `ssl_certificate ${certFile}; ssl_certificate_key ${keyFile}; keepalive_requests 7; gzip on;`,
      listen: 'ssl http2',
    });
  });
  after(() => site?.stop());

  async function fetchAll(names: string[], http2: boolean, oneLane = true): Promise<string[]> {
    const folder = newFolder();
    const config = join(folder, 'lcc.toml');
    writeFileSync(config, `[bot]\nhttp2 = ${http2}\n`);
    const root = site.url.replace('127.0.0.1', 'localhost');
    const fetches = names.map(
      (name, id) =>
        `<fetch id="${id}" ${oneLane ? 'lane="1" ' : ''}url="${root}${name}" file="${join(folder, String(id))}"/>\n`,
    );
    await site.forgetRequests();
    const { out } = await talk(fetches.join(''), [`--config=${config}`], authority.env);
    const results = out.split('\n').filter(line => line.startsWith('<fetched'));
    const inOrder: string[] = [];
    names.forEach((name, id) => {
      const result = results.find(line => line.includes(`id="${id}"`)) ?? '';
      inOrder.push(result);
      if (!result.includes('status="ok"')) return;
      const expected = name === 'moved' ? '1.html' : name;
      const content = readFileSync(join(folder, String(id)));
      assert.ok(content.equals(readFileSync(join(dir, 'www', expected))), name);
    });
    assert.equal(results.length, names.length);
    return inOrder;
  }

  it('fetches page after page over few connections, through every GOAWAY', async () => {
    const results = await fetchAll(
      [...Array.from({ length: PAGES }, (_, n) => `${n}.html`), 'large.html'],
      true,
    );
    assert.equal(results.filter(line => line.includes('status="ok"')).length, PAGES + 1, results.join('\n'));
    const protocols = new Set((await site.requests()).map(line => line.split(' ').at(2)));
    assert.deepEqual([...protocols], ['HTTP/2.0']);
    assert.equal((await site.requests()).length, PAGES + 1, 'nothing was asked twice');
  });

  it('takes content that comes faster than it is decoded, in many lanes at a time', async () => {
    const results = await fetchAll(
      Array.from({ length: 12 }, () => 'noise.html'),
      true,
      false,
    );
    for (const result of results) assert.match(result, /status="ok"/);
  });

  it('follows redirects, believes its errors, counts what came over the wire', async () => {
    const [moved = '', missing = '', again = ''] = await fetchAll(['moved', 'missing', 'large.html'], true);
    assert.match(moved, /status="ok".* furl="https:\/\/localhost:\d+\/1\.html"/);
    // Compressed as it is sent, without a length: the protocol says where it ends.
    assert.doesNotMatch(again, /verified="no"/);
    assert.match(missing, /code="404" reach="real"/);
    const wireBytes = Number(/wirebytes="(\d+)"/.exec(again)?.[1]);
    assert.ok(
      wireBytes > 1000 && wireBytes < large.length / 4,
      `${wireBytes} of ${large.length}, compressed`,
    );
  });

  it('speaks HTTP/1.1 where it is told to', async () => {
    const results = await fetchAll(['0.html'], false);
    assert.match(results.join(), /status="ok"/);
    assert.deepEqual(await site.requests(), ['GET /0.html HTTP/1.1 200']);
  });
});
