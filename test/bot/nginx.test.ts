import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { noNginx } from '../support/nginx.js';
import { fetchOnce, newEngine, newFolder, verdict } from './support.js';

const PORT = 28_473;
const SITE = `http://127.0.0.1:${PORT}`;
const MODIFIED = new Date('1994-11-06T08:49:37Z');

describe('a robot at nginx', { skip: noNginx }, () => {
  const dir = newFolder();
  const pages = {
    'small.html': Buffer.from('<p>small</p>\n'.repeat(100)),
    'large.html': Buffer.from('<p>a page that is much larger once it is decoded</p>\n'.repeat(15_000)),
    'empty.html': Buffer.alloc(0),
  };

  let nginx: ChildProcess | undefined;
  after(() => void nginx?.kill());
  before(async () => {
    mkdirSync(join(dir, 'www'));
    for (const [name, content] of Object.entries(pages)) {
      writeFileSync(join(dir, 'www', name), content);
      utimesSync(join(dir, 'www', name), MODIFIED, MODIFIED);
    }
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      name => `${name}_temp_path ${dir}/${name};`,
    );
    const config = join(dir, 'nginx.conf');
    writeFileSync(
      config,
      `daemon off; master_process off; pid ${dir}/pid; error_log ${dir}/log; events {}
http { access_log off; ${paths.join(' ')} types { text/html html; } gzip on; gzip_min_length 10;
  server { listen 127.0.0.1:${PORT}; root ${dir}/www; location = /moved { return 301 /small.html; } } }\n`,
    );
    nginx = spawn('nginx', ['-c', config, '-e', `${dir}/log`], { stdio: 'ignore' });
    for (;;) {
      const probe = connect(PORT, '127.0.0.1');
      try {
        await once(probe, 'connect');
        probe.destroy();
        return;
      } catch {
        assert.equal(nginx?.exitCode, null, 'nginx does not start');
        await pause(20);
      }
    }
  });

  for (const [name, content] of Object.entries(pages)) {
    it(`stores ${name} decoded, with its validators, and finds it unchanged by either of them`, async () => {
      const engine = newEngine();
      const job = { url: `${SITE}/${name}`, file: join(newFolder(), 'x'), mimetype: 'text/html' };
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

  it('follows its redirect and believes its 404', async () => {
    const engine = newEngine();
    const file = join(newFolder(), 'x');
    const moved = await fetchOnce(engine, { url: `${SITE}/moved`, file });
    assert.ok(moved.status === 'ok' && moved.finalUrl === `${SITE}/small.html`);
    assert.equal(verdict(await fetchOnce(engine, { url: `${SITE}/nothing`, file })), 404);
  });
});
