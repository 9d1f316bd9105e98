/** The gate with all daemons, real nginx sites and links that come by the spider door. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Lcc } from '../support/lcc.js';
import { freePort } from '../support/free-port.js';
import { noNginx, startSite, type Site } from '../support/nginx.js';
import { TestSite } from '../support/site.js';
import { until } from '../support/until.js';

const CONFIG = `
[qm]
backoff_min_ms = 500
backoff_max_ms = 1000
[bot]
headers_timeout_ms = 1000
[uns]
mime = ["text/*"]
`;

const linkTag = (curl: string) => `<url curl="${curl}" mimetype="*/*" ifabsent="yes" hops="1"/>`;

/** Delivers a set of links by the spider door, until it is accepted. */
async function deliverLinks(lcc: Lcc, pid: number, urls: readonly string[]): Promise<void> {
  const text = `<lococa:set pid="${pid}" set="partial" origin="links">${urls.map(linkTag).join('')}</lococa:set>`;
  const say = () =>
    new Promise<string>(resolve => {
      let reply = '';
      const socket = connect(join(lcc.home, 'run/spider.sock'), () => void socket.end(text));
      socket.setEncoding('utf8').on('data', (more: string) => (reply += more));
      socket.on('error', () => undefined).on('close', () => resolve(reply));
    });
  await until('links are accepted', async () => {
    const reply = await say();
    if (reply.includes('_rejected')) throw new Error(reply);
    return reply.includes(`<set_accepted received="${urls.length}"`);
  });
}

describe('robots.txt of real sites', { skip: noNginx }, () => {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-gate-'));
  const PAGES = ['a.html', 'b.html', 'no/c.html'];
  const RULES = 'User-agent: *\nDisallow: /no/\n';
  /** By what their robots.txt is like. */
  const ports: Record<string, number> = {};
  let site: Site;
  let silent: TestSite;
  let lcc: Lcc;

  const docroot = (name: string) => join(dir, name);
  const urlsOf = (name: string) => PAGES.map(page => `http://127.0.0.1:${ports[name]}/${page}`);
  /** What a site was asked for, in order. */
  const asked = (name: string) =>
    readFileSync(join(dir, `${name}.log`), 'utf8')
      .split('\n')
      .filter(Boolean);
  const pages = (name: string) => asked(name).filter(line => !line.startsWith('/robots.txt'));

  before(async () => {
    const names = ['plain', 'missing', 'down', 'large', 'moved'];
    for (const name of names) {
      mkdirSync(join(docroot(name), 'no'), { recursive: true });
      for (const page of PAGES) writeFileSync(join(docroot(name), page), `<p>${name} ${page}</p>`);
      ports[name] = await freePort();
    }
    writeFileSync(join(docroot('plain'), 'robots.txt'), RULES);
    writeFileSync(join(docroot('down'), 'robots.txt'), RULES);
    writeFileSync(join(docroot('down'), 'is-down'), '');
    // What is beyond 512 000 bytes counts for nothing.
    const padding = `# ${'x'.repeat(97)}\n`.repeat(100_000);
    writeFileSync(join(docroot('large'), 'robots.txt'), `${RULES}${padding}Disallow: /\n`);
    const more: Record<string, string> = {
      down: `if (-f "${docroot('down')}/is-down") { return 503; }`,
      moved: `if ($request_uri = /robots.txt) { return 302 http://127.0.0.1:${ports['plain']}/robots.txt; }`,
    };
    const servers = names.map(
      name => `server {
        listen 127.0.0.1:${ports[name]};
        access_log ${join(dir, `${name}.log`)} uris;
        location / { root "${docroot(name)}"; ${more[name] ?? ''} }
      }`,
    );
    site = await startSite(docroot('plain'), join(dir, 'nginx'), {
      http: `log_format uris escape=none '$request_uri $status'; ${servers.join('\n')}`,
    });
    silent = await TestSite.listen((request, response) => {
      if (request.url !== '/robots.txt') response.end('page');
    });
    ports['silent'] = Number(new URL(silent.url).port);
    lcc = new Lcc(`http://127.0.0.1:${ports['plain']}/`, CONFIG);
    for (const [i, name] of [...names, 'silent'].entries())
      await lcc.addProvider(i + 1, `http://127.0.0.1:${ports[name]}/`, '--spider=yes --pace=0');
    await lcc.start();
    for (const [i, name] of [...names, 'silent'].entries()) await deliverLinks(lcc, i + 1, urlsOf(name));
  });
  after(async () => {
    await lcc?.remove();
    await site?.stop();
    silent?.close();
    rmSync(dir, { recursive: true, force: true });
  });

  const PERMITTED = ['/a.html 200', '/b.html 200'];

  it('are asked for once, before anything else, and obeyed', async () => {
    await until('the pages of a site have come', () => pages('plain').length === 2);
    assert.deepEqual(pages('plain'), PERMITTED);
    assert.deepEqual(asked('plain')[0], '/robots.txt 200');
  });

  it('permit everything where there is none', async () => {
    await until('the pages of a site have come', () => pages('missing').length === 3);
    assert.deepEqual(asked('missing'), ['/robots.txt 404', ...PERMITTED, '/no/c.html 200']);
  });

  it('count as far as 512 000 bytes of 10 MB', async () => {
    await until('the pages of a site have come', () => pages('large').length === 2);
    assert.deepEqual(pages('large'), PERMITTED);
    assert.equal(asked('large').length, 3);
  });

  it('are those that a redirect to another host leads to', async () => {
    await until('the pages of a site have come', () => pages('moved').length === 2);
    assert.deepEqual(asked('moved'), ['/robots.txt 302', ...PERMITTED]);
  });

  it('that are not to be had keep everything back until they are, or until there are none', async () => {
    await lcc.shows('lccpidb show --pid=3', /not before/);
    await lcc.shows('lccpidb show --pid=6', /not before/);
    assert.deepEqual(pages('down'), []);
    rmSync(join(docroot('down'), 'is-down'));
    await until('the pages of a site have come', () => pages('down').length === 2);
    assert.deepEqual(pages('down'), PERMITTED);
    silent.answer = (request, response) => {
      response.writeHead(request.url === '/robots.txt' ? 404 : 200, { 'content-type': 'text/html' });
      response.end('page');
    };
    await lcc.idle();
    const held = (await lcc.run('lccq --format=jsonl')).split('\n').filter(Boolean);
    assert.equal(held.length, 2 + 3 + 2 + 2 + 2 + 3);
  });
});

describe('the pause between urls that nobody announced', { skip: noNginx }, () => {
  const CRAWL_DELAY_MS = 1000;
  const dir = mkdtempSync(join(tmpdir(), 'lcc-pause-'));
  const docs = join(dir, 'docs');
  let site: Site;
  let lcc: Lcc;

  /** Requests in the order of their ends: when each began and ended, ms. */
  const requests = () =>
    readFileSync(join(dir, 'times.log'), 'utf8')
      .split('\n')
      .filter(Boolean)
      .map(line => {
        const [ended = '', took = '', path = ''] = line.split(' ');
        return { path, beganMs: (Number(ended) - Number(took)) * 1000, endedMs: Number(ended) * 1000 };
      });

  before(async () => {
    mkdirSync(docs);
    writeFileSync(
      join(docs, 'robots.txt'),
      `User-agent: *\nCrawl-delay: ${CRAWL_DELAY_MS / 1000}\nAllow: /\n`,
    );
    writeFileSync(join(docs, 'page.html'), '<p>page</p>');
    site = await startSite(docs, join(dir, 'nginx'), {
      http: "log_format times escape=none '$msec $request_time $request_uri';",
      server: `access_log ${join(dir, 'times.log')} times;`,
    });
    lcc = new Lcc(site.url, CONFIG);
    await lcc.addProvider(1, site.url, '--spider=yes --pace=300ms');
    await lcc.start();
  });
  after(async () => {
    await lcc?.remove();
    await site?.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  it('is what robots.txt wishes for, over kills of all daemons, and an owner waits for none of it (22, 23)', async () => {
    const links = Array.from({ length: 10_000 }, (_, i) => `${site.url}page.html?${i}`);
    await deliverLinks(lcc, 1, links);
    for (const count of [3, 5]) {
      await until(`${count} requests were made`, () => requests().length >= count);
      await lcc.killAll();
      await lcc.start();
    }
    await until('7 requests were made', () => requests().length >= 7);
    const before = requests().length;
    await lcc.deliver('partial', ['<url curl="page.html" mimetype="text/html"/>']);
    await until('the page of the owner was asked for', () =>
      requests().some(({ path }) => path === '/page.html'),
    );
    await until(
      'two more requests were made',
      () => requests().at(-2)?.path.includes('?') === true && requests().length >= before + 3,
    );
    const all = requests();
    const owners = all.findIndex(({ path }) => path === '/page.html');
    assert.ok(owners <= before + 1, `after ${owners - before} links of 10 000`);
    assert.equal(all.filter(({ path }) => path === '/robots.txt').length, 1, 'it is kept over kills');
    for (const [i, { path, beganMs }] of all.entries()) {
      const pauseMs = beganMs - (all[i - 1]?.endedMs ?? 0);
      // nginx knows milliseconds.
      if (path !== '/page.html')
        assert.ok(pauseMs >= CRAWL_DELAY_MS - 5, `${path} began after ${Math.round(pauseMs)} ms`);
    }
  });
});
