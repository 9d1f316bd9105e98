/**
 * The examples of cache clearing: each real server has the very file of its folder, the rail is set up by the lines of its
 * README, and a page that is served before `lccclear --wait` is not served after it.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as plainRequest, type IncomingMessage, type RequestListener } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { driverOf } from '../../src/clear/drivers/index.js';
import { withHost } from '../../src/clear/engine.js';
import { Authority } from '../fetch/authority.js';
import { Cdn, CLOUDFLARE_TOKEN, FASTLY_TOKEN, SERVICE, ZONE } from '../support/cdn.js';
import { Daemons } from '../support/daemon.js';
import {
  noExampleServers,
  startApacheExample,
  startNginxExample,
  startVarnishExample,
  withReplaced,
  type ExampleServer,
  type Replacements,
} from '../support/example-rails.js';
import { freePort } from '../support/free-port.js';
import { TestSite } from '../support/site.js';
import { readProjectFile, ROOT } from '../support/tree.js';
import { until } from '../support/until.js';

const TOKEN = '5c40f8a5b1a24c1e9b3a5f0e6d7c8b9a';
const PAGE = '/news/4711.html';

let authority: Authority;
before(() => void (authority = new Authority()));

let dir: string;
let port: number;
let daemons: Daemons;
let server: ExampleServer | undefined;
let site: TestSite | undefined;

afterEach(async () => {
  await daemons.end();
  await server?.stop();
  site?.close();
  server = site = undefined;
  rmSync(dir, { recursive: true, force: true });
});

interface Answer {
  status: number | undefined;
  text: string;
}

/** A home with the secrets of a README. */
async function prepare(driver: string, secrets: Replacements): Promise<string> {
  dir = mkdtempSync(join(tmpdir(), 'lcc-example-'));
  chmodSync(dir, 0o755);
  port = await freePort();
  daemons = new Daemons();
  const home = join(dir, 'home');
  mkdirSync(join(home, 'clear'), { recursive: true });
  writeFileSync(join(home, 'lcc.toml'), '[clear]\nbacklog_retry_ms = 200\n');
  const readme = `examples/clear/${driver}/README.md`;
  const text = withReplaced(readme, secrets);
  const tables = text.match(/^ {4}\[[a-z]+\]\n(?: {4}\w+ = .+\n)+/gm) ?? [];
  assert.notEqual(tables.length, 0, readme);
  const file = join(home, 'clear/secrets.toml');
  writeFileSync(file, tables.join('\n').replace(/^ {4}/gm, ''), { mode: 0o600 });
  return home;
}

/** Starts the daemon, then runs the lines of a README, with the rail at `url`; each has to end with 0. */
async function runLines(home: string, driver: string, url: string, words: string): Promise<void> {
  const lines = (readProjectFile(`examples/clear/${driver}/README.md`).match(/^ {4}lcc\w+ .+$/gm) ?? [])
    .map(line => line.trim())
    .filter(line => line.startsWith(words));
  assert.notEqual(lines.length, 0, words);
  for (const line of lines) {
    const { status, stdout, stderr } = await run(home, line.replace(/--url=\S+/, `--url=${url}`));
    assert.equal(status, 0, `${line}\n${stdout}${stderr}`);
    if (line.startsWith('lccclear'))
      assert.deepEqual(await run(home, 'lccclearq backlog'), { status: 0, stdout: '', stderr: '' }, line);
    if (line.startsWith('lccrail check')) assert.match(stdout, /without a login: .*status 40[135]/);
  }
}

async function run(
  home: string,
  line: string,
): Promise<{ status: number | null; stdout: string; stderr: string }> {
  const child = spawn('bash', ['-c', line], {
    cwd: dir,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      PATH: `${join(ROOT, 'bin')}:${process.env['PATH'] ?? ''}`,
      LCC_HOME: home,
      LCC_CONFIG: '',
    },
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, stdout, stderr };
}

async function ask(
  url: string,
  { method = 'GET', headers = {} }: { method?: string; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const request = url.startsWith('https:') ? tlsRequest : plainRequest;
  const sent = request(url, { method, headers, agent: false, ca: authority.ca }).end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  answer.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  await once(answer, 'end');
  return { status: answer.statusCode, text };
}

/** Makes the certificate of the rail. @returns what stands in the place of the paths of the examples */
function certified(host?: string): Replacements {
  const { keyFile, certFile } = authority.issue(host);
  return [
    ['/etc/ssl/lcc-rail/cert.pem', certFile],
    ['/etc/ssl/lcc-rail/key.pem', keyFile],
  ];
}

function caFile(): string {
  const file = join(tmpdir(), `lcc-example-ca-${process.pid}.pem`);
  writeFileSync(file, authority.ca);
  return file;
}
after(() => rmSync(join(tmpdir(), `lcc-example-ca-${process.pid}.pem`), { force: true }));

const LOGIN = { authorization: `Basic ${Buffer.from('cachebot:secret').toString('base64')}` };
const isRoot = process.getuid?.() === 0;

/** A folder that the server may write to. */
function folder(...names: string[]): string {
  const path = join(dir, ...names);
  mkdirSync(path, { recursive: true });
  if (isRoot) execFileSync('chown', ['www-data', path]);
  return path;
}

describe('rails of files', { skip: noExampleServers }, () => {
  for (const driver of ['apache-dav', 'nginx-dav'])
    it(`${driver}: a page is removed, and only for those who log in`, async () => {
      const home = await prepare(driver, [
        ['PASSWORD', 'secret'],
        ['/etc/ssl/lcc-rail/ca.pem', caFile()],
      ]);
      const docroot = folder('www');
      writeFileSync(join(folder('www/news'), '4711.html'), 'old');
      const passwords = join(dir, 'passwords');
      execFileSync('htpasswd', ['-b', '-c', '-m', passwords, 'cachebot', 'secret'], { stdio: 'ignore' });
      const config = `examples/clear/${driver}/lcc-rail.conf`;
      if (driver === 'apache-dav') {
        folder('lock');
        const enabled =
          /a2enmod (.+)/.exec(readProjectFile('examples/clear/apache-dav/README.md'))?.[1] ?? '';
        const text = withReplaced(config, [
          ...certified(),
          ['*:443', `*:${port}`],
          ['/srv/www', docroot],
          ['/etc/apache2/lcc-rail.htpasswd', passwords],
        ]);
        server = await startApacheExample(dir, port, text, enabled.split(' '));
      } else {
        const text = withReplaced(config, [
          ...certified(),
          ['listen 443', `listen 127.0.0.1:${port}`],
          ['/srv/www-upload', folder('upload')],
          ['root /srv/www;', `root ${docroot};`],
          ['/etc/nginx/lcc-rail.htpasswd', passwords],
        ]);
        server = await startNginxExample(dir, port, text);
      }
      const url = `https://localhost:${port}`;
      await daemons.start('lccd-hard', home).ready;
      await runLines(home, driver, `${url}/`, 'lccrail ');
      assert.deepEqual(await ask(url + PAGE), { status: 200, text: 'old' });
      await runLines(home, driver, url, 'lccclear ');
      assert.equal((await ask(url + PAGE)).status, 404);
      assert.equal(existsSync(docroot + PAGE), false);
      const removal = await ask(`${url}/news/`, { method: 'DELETE', headers: LOGIN });
      assert.equal(removal.status, 403, 'a folder stays');
      assert.equal(existsSync(join(docroot, 'news')), true);
    });
});

/** A site whose pages may be cached for an hour, each with the id of its content as key. */
async function startOrigin(): Promise<TestSite> {
  const answer: RequestListener = (request, response) => {
    const page = origin.pages.get(request.url ?? '');
    const key = /(\w+)\.html$/.exec(request.url ?? '')?.[1] ?? '';
    response.writeHead(page === undefined ? 404 : 200, { 'cache-control': 'max-age=3600', xkey: key });
    response.end(page);
  };
  const origin = await TestSite.listen(answer);
  origin.pages.set(PAGE, 'old');
  site = origin;
  return origin;
}

describe('rails of caches', { skip: noExampleServers }, () => {
  const HOST = { host: 'www.example.org' };

  async function startVarnish(driver: string): Promise<{ home: string; url: string; origin: TestSite }> {
    const home = await prepare(driver, [['TOKEN', TOKEN]]);
    const origin = await startOrigin();
    const token = join(dir, 'token');
    writeFileSync(token, `${TOKEN}\n`);
    const vcl = withReplaced(`examples/clear/${driver}/lcc.vcl`, [
      ['"8080"', `"${new URL(origin.url).port}"`],
      ['/etc/varnish/lcc-token', token],
    ]);
    server = await startVarnishExample(dir, port, vcl);
    return { home, url: `http://127.0.0.1:${port}`, origin };
  }

  /** Sends what a driver asks to have a page replaced softly. */
  function renew(driver: string, url: string): Promise<Answer> {
    const { renew: way } = driverOf({ name: 'cache1', driver, opts: '{}' });
    assert.ok(way !== undefined && way !== 'put');
    const { method, path, headers } = way.ask([{ url: PAGE, contentId: '4711' }]);
    const sent = withHost(HOST.host, headers);
    const named = Object.fromEntries(
      sent.flatMap((name, i) => (i % 2 === 0 ? [[name, sent[i + 1] ?? '']] : [])),
    );
    return ask(url + path, { method, headers: { ...named, authorization: `Bearer ${TOKEN}` } });
  }

  for (const driver of ['varnish', 'varnish-xkey', 'varnish-ban'])
    it(`${driver}: a page that was cached is fetched again, and another is not`, async () => {
      const { home, url, origin } = await startVarnish(driver);
      await daemons.start('lccd-hard', home).ready;
      await runLines(home, driver, `${url}/`, 'lccrail ');
      const other = '/news/47110html';
      origin.pages.set(other, 'old');
      const served = async (page: string) => (await ask(url + page, { headers: HOST })).text;
      assert.deepEqual([await served(PAGE), await served(other)], ['old', 'old']);
      origin.pages.set(PAGE, 'new').set(other, 'new');
      assert.equal(await served(PAGE), 'old');
      await runLines(home, driver, url, 'lccclear ');
      assert.deepEqual([await served(PAGE), await served(other)], ['new', 'old']);
      if (driver === 'varnish-ban') return;
      origin.pages.set(PAGE, 'newest');
      assert.equal((await renew(driver, url)).status, 200);
      assert.equal(await served(PAGE), 'new', 'stale, while it is fetched');
      await until('the page is fresh', async () => (await served(PAGE)) === 'newest');
    });

  it('nginx-refresh: a page is replaced in the cache, also by what says that it is gone', async () => {
    const driver = 'nginx-refresh';
    const home = await prepare(driver, [
      ['TOKEN', TOKEN],
      ['/etc/ssl/lcc-rail/ca.pem', caFile()],
    ]);
    const origin = await startOrigin();
    origin.pages.set('/', 'front');
    const token = join(dir, 'token');
    writeFileSync(token, `"Bearer ${TOKEN}" 1;\n`);
    const config = withReplaced('examples/clear/nginx-refresh/lcc-cache.conf', [
      ...certified(HOST.host),
      ['listen 443', `listen 127.0.0.1:${port}`],
      ['127.0.0.1:8080', new URL(origin.url).host],
      ['/var/cache/nginx/lcc', folder('cache')],
      ['/etc/nginx/lcc-token', token],
    ]);
    server = await startNginxExample(dir, port, config);
    const url = `https://localhost:${port}`;
    await daemons.start('lccd-hard', home).ready;
    await runLines(home, driver, `${url}/`, 'lccrail ');
    const served = () => ask(url + PAGE, { headers: HOST });
    assert.equal((await served()).text, 'old');
    origin.pages.set(PAGE, 'new');
    assert.equal((await served()).text, 'old');
    await runLines(home, driver, url, 'lccclear ');
    origin.pages.set(PAGE, 'newest');
    assert.equal((await served()).text, 'new', 'fetched when it was cleared');
    origin.pages.delete(PAGE);
    await runLines(home, driver, url, 'lccclear ');
    origin.pages.set(PAGE, 'again');
    assert.equal((await served()).status, 404, 'the page is gone from the cache');
    // So is one that has moved, and one that is private now.
    for (const status of [301, 403]) {
      origin.pages.set(PAGE, 'public');
      await runLines(home, driver, url, 'lccclear ');
      assert.equal((await served()).text, 'public');
      const { answer } = origin;
      origin.answer = (_request, response) =>
        void response.writeHead(status, { location: 'https://www.example.org/elsewhere' }).end();
      await runLines(home, driver, url, 'lccclear ');
      origin.answer = answer;
      assert.equal((await served()).status, status, 'what readers get until the site is asked again');
    }
    // A header that nginx does not know is answered from the cache, and that is seen.
    await run(home, `lccrail set cache1 --force --opts='{"header":"x-other"}'`);
    const { status, stdout } = await run(home, 'lccrail check cache1');
    assert.equal(status, 65);
    assert.match(stdout, /^NOT OK {2}GET of \/ past the cache: X-Cache: HIT: .* x-other /m);
  });
});

describe('rails of CDNs', () => {
  const ADDRESS = 'https://www.example.org';

  it('http: Fastly by key and by page, and Cloudflare, in as few requests as they take', async () => {
    const home = await prepare('http', [
      ['FASTLY_TOKEN', FASTLY_TOKEN],
      ['CLOUDFLARE_TOKEN', CLOUDFLARE_TOKEN],
    ]);
    const cdn = new Cdn();
    site = await TestSite.listen(cdn.answer);
    for (const [file, from, to] of [
      ['fastly.json', 'SERVICE_ID', SERVICE],
      ['fastly-url.json', '{url}', '{url}'],
      ['cloudflare.json', 'ZONE_ID', ZONE],
    ] as const)
      writeFileSync(join(dir, file), withReplaced(`examples/clear/http/${file}`, [[from, to]]));
    await daemons.start('lccd-hard', home).ready;
    const { url } = site;
    await runLines(home, 'http', `${url}/`, 'lccrail target');
    await runLines(home, 'http', `${url}/`, 'lccrail map');
    const isGone = (page: string) => !cdn.pages.has(ADDRESS + page);
    const fill = (ids: readonly string[]) => {
      for (const id of ids) cdn.pages.set(`${ADDRESS}/news/${id}.html`, { keys: [id], isStale: false });
    };
    const ids = Array.from({ length: 300 }, (_, i) => `a${i}`);
    for (const [rail, most] of [
      ['fastly1', 256],
      ['cloudflare1', 30],
    ] as const) {
      await runLines(home, 'http', `${url}/`, `lccrail add ${rail}`);
      await runLines(home, 'http', `${url}/`, `lccrail check ${rail}`);
      fill(['4711', '4712']);
      cdn.tooMany = 1;
      await runLines(home, 'http', url, 'lccclear ');
      assert.deepEqual([isGone(PAGE), isGone('/news/4712.html')], [true, false], rail);
      fill(ids);
      cdn.purges.length = 0;
      const { status, stderr } = await run(
        home,
        `lccclear --target=www --type=article --wait=60 ${ids.join(' ')}`,
      );
      assert.equal(status, 0, stderr);
      assert.deepEqual([...cdn.pages.keys()], [`${ADDRESS}/news/4712.html`], rail);
      assert.ok(Math.max(...cdn.purges) <= most && cdn.purges.length < 60, cdn.purges.join(' '));
      assert.equal((await run(home, `lccrail rm ${rail}`)).status, 0);
    }
    // Its host is part of the address that is purged.
    const file = readProjectFile('examples/clear/http/README.md');
    const line = /^ {4}(lccrail add fastly2 .+)$/m.exec(file)?.[1] ?? '';
    const added = await run(home, `${line.replace(/--url=\S+/, `--url=${url}/`)} --host=www.example.org`);
    assert.equal(added.status, 0, added.stderr);
    await runLines(home, 'http', url, 'lccrail check fastly2');
    fill(['4711']);
    await runLines(home, 'http', url, 'lccclear ');
    assert.equal(isGone(PAGE), true);
  });
});
