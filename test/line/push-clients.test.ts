/**
 * Clients of IndexNow as they are, over TLS: npm's indexnow-submitter and astro-indexnow, and the bytes that Microsoft's plugin for
 * WordPress 1.0.1 has sent in a WordPress 6.1.9 (it is in no package that could be installed).
 */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { request as askHttp } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { connect } from 'node:tls';
import { Authority } from '../fetch/authority.js';
import { freePort } from '../support/free-port.js';
import { Lcc } from '../support/lcc.js';
import { TestSite } from '../support/site.js';
import { ROOT } from '../support/tree.js';
import { until } from '../support/until.js';

const KEY = '0123456789abcdef0123456789abcdef';
/** The name that plugins have built in is led to the test, as a resolver and a port forward would do. */
const LED = `import tls from 'node:tls';
const connect = tls.connect;
tls.connect = (options, ...rest) =>
  connect(options.host === 'api.indexnow.org' ? { ...options, host: '127.0.0.1', port: Number(process.env.LED_TO) } : options, ...rest);
`;

const areInstalled = existsSync(join(ROOT, 'node_modules/indexnow-submitter'));

describe('clients of IndexNow that nobody has changed', { skip: !areInstalled && 'npm ci' }, () => {
  let site: TestSite;
  let lcc: Lcc;
  let front: Server;
  let port: number;
  let host: string;
  let ca: string;

  before(async () => {
    site = await TestSite.listen();
    host = new URL(site.url).host;
    site.pages.set(`/${KEY}.txt`, KEY);
    const inner = await freePort();
    lcc = new Lcc(
      `${site.url}/`,
      `[rs]\nlisten = ["127.0.0.1:${inner}"]\nurl = "http://127.0.0.1:${inner}/"\nports = ["${new URL(site.url).port}"]\n`,
    );
    const authority = new Authority();
    const { key, cert } = authority.issue('localhost,DNS:api.indexnow.org');
    ca = join(lcc.dir, 'ca.pem');
    writeFileSync(ca, authority.ca);
    writeFileSync(join(lcc.dir, 'led.mjs'), LED);
    front = createServer({ key, cert }, (asked, answer) => {
      const { method, url: path, headers } = asked;
      const forward = askHttp({ host: '127.0.0.1', port: inner, method, path, headers }, told => {
        answer.writeHead(told.statusCode ?? 502, told.headers);
        told.pipe(answer);
      });
      asked.pipe(forward);
    });
    await new Promise<void>(resolve => front.listen(0, '127.0.0.1', resolve));
    port = (front.address() as AddressInfo).port;
    await lcc.addProvider();
    await lcc.start();
  });
  after(async () => {
    front?.close();
    await lcc?.remove();
    site?.close();
  });

  const areHeld = (...names: string[]) =>
    until(`${names.join()} are held`, async () => {
      const { rows } = await lcc.holdings();
      return names.every(name => rows.some(row => row.startsWith(`${name} `)));
    });
  /** Runs a program that stands in the project, where packages are found. */
  async function run(program: string): Promise<string> {
    const file = join(lcc.dir, 'client.mjs');
    writeFileSync(file, program);
    const env = { NODE_EXTRA_CA_CERTS: ca, LED_TO: String(port) };
    const { status, stdout, stderr } = await lcc.sh(
      `node --import ${join(lcc.dir, 'led.mjs')} ${file} 2>&1`,
      env,
    );
    assert.equal(status, 0, stdout + stderr);
    return stdout;
  }
  const packageAt = (path: string) => pathToFileURL(join(ROOT, 'node_modules', path)).href;

  it('indexnow-submitter, with its engine set', async () => {
    for (const name of ['s1.html', 's2.html', 's3.html']) site.pages.set(`/${name}`, name);
    const said = await run(`
      import submitter from '${packageAt('indexnow-submitter/dist/index.js')}';
      const client = new submitter.IndexNowSubmitter({
        engine: 'localhost:${port}', key: '${KEY}', host: '${host}', keyLocation: '${site.url}/${KEY}.txt', batchSize: 2, rateLimit: 100 });
      await client.submitUrls(['s1.html', 's2.html', 's3.html'].map(name => '${site.url}/' + name));
      console.log(JSON.stringify(client.getAnalytics()));`);
    assert.match(said, /"successfulSubmissions":3,"failedSubmissions":0/);
    await areHeld('s1.html', 's2.html', 's3.html');
  });

  it('astro-indexnow, which asks api.indexnow.org, led here', async () => {
    const built = join(lcc.dir, 'dist');
    for (const name of ['', 'blog/', 'blog/post/']) {
      mkdirSync(join(built, name), { recursive: true });
      writeFileSync(join(built, name, 'index.html'), `<p>${name}`);
      site.pages.set(`/${name}`, `<p>${name}`);
    }
    const said = await run(`
      import indexNow from '${packageAt('astro-indexnow/dist/index.js')}';
      const logger = { info: console.log, warn: console.log, debug: () => undefined };
      const { hooks } = indexNow({ key: '${KEY}', cacheDir: '${lcc.dir}' });
      hooks['astro:config:setup']({ config: { site: '${site.url}/' }, logger });
      await hooks['astro:build:done']({ dir: new URL('${pathToFileURL(built).href}/'), logger });`);
    assert.match(said, /IndexNow submission complete/);
    await areHeld('blog/', 'blog/post/');
  });

  it("the request of Microsoft's plugin for WordPress, as WordPress 6.1 writes it", async () => {
    site.pages.set('/2026/11/hello-world/', 'hello');
    const slashes = (text: string) => text.replaceAll('/', '\\/');
    const home = slashes(site.url);
    const body = `{"host":"${host}","key":"${KEY}","keyLocation":"${home}\\/${KEY}.txt","urlList":["${home}\\/2026\\/11\\/hello-world\\/"]}`;
    const asked = [
      'POST /indexnow/ HTTP/1.1',
      'Host: api.indexnow.org',
      `User-Agent: WordPress/6.1.9; ${site.url}`,
      'Accept: */*',
      'Accept-Encoding: deflate, gzip, br, zstd',
      'Referer: https://api.indexnow.org/indexnow/',
      'Content-Type: application/json',
      'X-Source-Info: https://wordpress.com/1.0.1/',
      'Connection: close',
      `Content-Length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ].join('\r\n');
    const answer = await new Promise<string>((resolve, reject) => {
      let text = '';
      const socket = connect({
        host: '127.0.0.1',
        port,
        servername: 'api.indexnow.org',
        rejectUnauthorized: false,
      });
      socket.setEncoding('utf8').on('data', (more: string) => (text += more));
      socket.on('error', reject).on('close', () => resolve(text));
      socket.write(asked);
    });
    assert.match(answer, /^HTTP\/1\.1 200 /);
    await areHeld('2026/11/hello-world/');
  });
});
