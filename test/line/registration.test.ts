/** The lines of docs/guide/registration.md, in their order. */
import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { parse } from 'smol-toml';
import { after, before, describe, it } from 'node:test';
import { Authority } from '../fetch/authority.js';
import { freePort } from '../support/free-port.js';
import { noNginx, startSite } from '../support/nginx.js';
import { startRegistration, type RegistrationScene } from '../support/registration.js';
import { readProjectFile } from '../support/tree.js';

const GUIDE = readProjectFile('docs/guide/registration.md');
const LINES = (GUIDE.match(/^ {4}lcc\w+ .+$/gm) ?? []).map(line => line.trim());
const PROXY = (GUIDE.match(/^ {4}server \{\n[^]*?^ {4}\}\n/m)?.[0] ?? '').replace(/^ {4}/gm, '');
const TOML = (GUIDE.match(/^ {4}\[rs\]\n(?: {4}\w+ = .+\n)+/m)?.[0] ?? '').replace(/^ {4}/gm, '');

describe('the guide on registration', { skip: noNginx }, () => {
  let scene: RegistrationScene;
  before(async () => {
    scene = await startRegistration('proxies = ["127.0.0.1"]\n');
    writeFileSync(join(scene.site.docroot, 'index.html'), '<p>joined');
  });
  after(() => scene.end());

  /** A line with the addresses and folders of the test. */
  const run = (line: string) =>
    scene.lcc.sh(
      line
        .replace('https://lcc.example.org/', scene.server)
        .replace('http://www.example.org/', scene.site.url)
        .replace('/var/www', scene.site.docroot),
      { HOME: scene.lcc.dir },
    );

  it('has settings that lccd takes', () => {
    const { rs = {} } = parse(TOML) as { rs?: object };
    assert.deepEqual(Object.keys(rs), ['listen', 'url', 'uns', 'proxies']);
  });

  it('leads to a provider whose line for cron delivers', async () => {
    const [begin = '', list = '', approve = '', check = '', ...more] = LINES;
    assert.deepEqual(more, []);
    assert.equal((await run(begin)).status, 75);
    assert.match((await scene.lcc.sh('lccstat')).stdout, /1 site waits for approval; lccrs list/);
    assert.match((await run(list)).stdout, /^1 +waiting /);
    assert.equal((await run(approve)).status, 0);
    const { status, stdout, stderr } = await run(check);
    assert.equal(status, 0, stderr);
    assert.deepEqual(readdirSync(scene.site.docroot), ['index.html']);
    await scene.lcc.run(stdout.replace(/^\S+ \S+ \S+ \S+ \S+ /, '').replaceAll('\\%', '%'));
    await scene.lcc.idle();
    assert.match((await scene.lcc.holdings()).rows.join(), /^index\.html /);
  });

  it('has a proxy with TLS whose clients count by their own addresses', async () => {
    const authority = new Authority();
    const [{ keyFile, certFile }, port] = [authority.issue(), await freePort()];
    const { ca } = authority;
    const block = PROXY.replace('listen 443', `listen 127.0.0.1:${port}`)
      .replace(/(?<=ssl_certificate )\S+(?=;)/, certFile)
      .replace(/(?<=ssl_certificate_key )\S+(?=;)/, keyFile)
      .replace('http://127.0.0.1:9080', scene.server.slice(0, -1));
    const nginx = await startSite(scene.site.docroot, join(scene.lcc.dir, 'proxy'), { http: block });
    try {
      const answer = await new Promise<IncomingMessage>((resolve, reject) => {
        const to = {
          host: 'localhost',
          port,
          path: '/api/v1/pairs',
          method: 'POST',
          ca,
          localAddress: '127.0.7.1',
          family: 4,
        };
        const headers = { 'content-type': 'application/json' };
        request({ ...to, headers }, resolve)
          .on('error', reject)
          .end(JSON.stringify({ url: scene.site.url }));
      });
      assert.equal(answer.resume().statusCode, 201);
      assert.match(await scene.lcc.run('lccrs show 2'), /127\.0\.7\.0\/24/);
    } finally {
      await nginx.stop();
    }
  });
});
