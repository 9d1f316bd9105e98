/** Sites that announce nothing: their sitemaps and feeds, through the whole pipe into a real LCC. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { startLcc, type Lcc } from '../support/lcc.js';
import { longIt } from '../support/long.js';
import { TestSite } from '../support/site.js';

interface Page {
  type: string | undefined;
  content: string | Buffer;
  lastmod?: string;
}

const CHILDREN = 20;
const PER_CHILD = 3;

interface FeedItem {
  id: string;
  url: string;
  title: string;
}

/** Path of a feed → the document, in the format of that name. */
const FEEDS: Record<string, (items: readonly FeedItem[], self: string) => Page> = {
  '/feed.json': items => ({
    type: 'application/json',
    content: JSON.stringify({ version: 'https://jsonfeed.org/version/1.1', title: 't', items }),
  }),
  '/feed.rss': items => ({
    type: 'application/rss+xml',
    content: `<rss version="2.0"><channel><title>t</title><link>/</link><description/>${items
      .map(
        ({ id, url, title }) => `<item><guid>${id}</guid><link>${url}</link><title>${title}</title></item>`,
      )
      .join('')}</channel></rss>`,
  }),
  // The link to the entry itself is no page of it.
  '/feed.atom': (items, self) => ({
    type: 'application/atom+xml',
    content: `<feed xmlns="http://www.w3.org/2005/Atom"><id>${self}</id><title>t</title><link rel="self" href="${self}"/>${items
      .map(
        ({ id, url, title }) =>
          `<entry><id>${id}</id><link rel="self" href="${self}?${id}"/><link href="${url}"/><title>${title}</title></entry>`,
      )
      .join('')}</feed>`,
  }),
  '/feed.rdf': (items, self) => ({
    type: 'application/rdf+xml',
    content: `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel rdf:about="${self}"><title>t</title></channel>${items
      .map(
        ({ id, url, title }) => `<item rdf:about="${id}"><title>${title}</title><link>${url}</link></item>`,
      )
      .join('')}</rdf:RDF>`,
  }),
};

describe('a site with a sitemap', () => {
  let site: TestSite;
  let lcc: Lcc;
  const pages = new Map<string, Page>();
  /** Paths of lists that are answered with a status, or otherwise. */
  const faults = new Map<string, number | string>();
  let asked: string[] = [];
  /** Of the lists and pages asked for, with the status of the answer. */
  let answered: string[] = [];
  let hasSitemap = true;

  before(async () => {
    site = await TestSite.listen((request, response) => {
      const path = request.url ?? '';
      const fault = faults.get(path);
      response.on('finish', () => answered.push(`${path} ${response.statusCode}`));
      if (!/^\/(robots|s|c\d+)\.(txt|xml|gz)$/.test(path) && !(path in FEEDS)) asked.push(path);
      if (typeof fault === 'number') return void response.writeHead(fault).end();
      const found = typeof fault === 'string' ? { type: 'text/html', content: fault } : documentAt(path);
      if (found === undefined) return void response.writeHead(404).end();
      const etag = `"${createHash('md5').update(found.content).digest('hex')}"`;
      const head = { etag, ...(found.type === undefined ? {} : { 'content-type': found.type }) };
      if (request.headers['if-none-match'] === etag) response.writeHead(304, head).end();
      else response.writeHead(200, head).end(found.content);
    });
    lcc = await startLcc(site.url);
    for (let n = 0; n < CHILDREN * PER_CHILD; n++)
      pages.set(`/p${n}`, { type: 'text/html', content: `<p>${n}`, lastmod: '2026-01-01' });
    pages.set('/p1', { type: 'application/pdf', content: '%PDF-1.4', lastmod: '2026-01-01' });
    pages.set('/p2', { type: undefined, content: 'bare', lastmod: '2026-01-01' });
  });
  after(async () => {
    await lcc?.remove();
    site?.close();
  });
  beforeEach(() => {
    asked = [];
    answered = [];
  });

  let feedItems: readonly FeedItem[] = [];

  function documentAt(path: string): Page | undefined {
    const child = /^\/c(\d+)\.gz$/.exec(path)?.[1];
    const listed = [...pages].filter(([, { lastmod }]) => lastmod !== undefined);
    if (path === '/robots.txt')
      return { type: 'text/plain', content: hasSitemap ? `Sitemap: ${site.url}/s.xml\n` : '' };
    if (path === '/s.xml') {
      const children = Array.from(
        { length: CHILDREN },
        (_, n) => `<sitemap><loc>${site.url}/c${n}.gz</loc></sitemap>`,
      );
      return { type: 'text/xml', content: `<sitemapindex>${children.join('')}</sitemapindex>` };
    }
    if (child !== undefined) {
      const own = listed.filter((_, n) => n % CHILDREN === Number(child));
      const urls = own.map(
        ([name, { lastmod }]) => `<url><loc>${site.url}${name}</loc><lastmod>${lastmod}</lastmod></url>`,
      );
      return { type: 'application/gzip', content: gzipSync(`<urlset>${urls.join('')}</urlset>`) };
    }
    const write = FEEDS[path];
    if (write !== undefined) return write(feedItems, site.url + path);
    return pages.get(path);
  }

  const pipe = (more = '', state = 'state') =>
    lcc.sh(
      `sitemap2url --site=${site.url}/ --state=sm ${more} | lcccpstate -q --statefile=${state} | lcccp --uns=${lcc.uns} --pid=1`,
    );
  const held = async () => {
    const rows = await lcc.run('lccq --format=jsonl --fields=curl,mimetype,md5');
    return rows
      .trim()
      .split('\n')
      .filter(row => row !== '')
      .map(row => JSON.parse(row) as { curl: string; mimetype: string; md5: string })
      .sort((a, b) => (a.curl < b.curl ? -1 : 1));
  };
  const served = () =>
    [...pages]
      .map(([path, { type, content }]) => ({
        curl: site.url + path,
        mimetype: type ?? 'application/octet-stream',
        md5: createHash('md5').update(content).digest('hex'),
      }))
      .sort((a, b) => (a.curl < b.curl ? -1 : 1));

  it('is held as it is served; a second run sends nothing, and no list is sent again', async () => {
    const first = await pipe();
    assert.equal(first.status, 0, first.stderr);
    assert.match(first.stderr, /partial set of 60 urls sent, 60 accepted/);
    await lcc.idle();
    assert.deepEqual(await held(), served());
    asked = [];
    answered = [];
    const again = await pipe();
    assert.equal(again.status, 0, again.stderr);
    assert.match(again.stderr, /nothing to send/);
    await lcc.idle();
    assert.deepEqual(asked, []);
    assert.equal(answered.length, 2 + CHILDREN);
    assert.deepEqual(
      answered.filter(line => !line.endsWith(' 304')),
      [],
    );
  });

  it('has three pages fetched when three lastmods move, and those alone', async () => {
    for (const n of [5, 17, 40])
      pages.set(`/p${n}`, { type: 'text/html', content: `<p>new ${n}`, lastmod: '2026-02-02' });
    assert.match((await pipe()).stderr, /partial set of 3 urls sent/);
    await lcc.idle();
    assert.deepEqual(asked.sort(), ['/p17', '/p40', '/p5']);
    assert.deepEqual(await held(), served());
  });

  it('has the same bytes fetched when a lastmod moves, once, and tells no content user', async () => {
    const news = () => lcc.run('lccq --cursor=same --format=jsonl --fields=curl,mtime -- cat');
    await news();
    pages.set('/p6', { type: 'text/html', content: '<p>6', lastmod: '2026-02-03' });
    assert.match((await pipe()).stderr, /partial set of 1 url sent/);
    await lcc.idle();
    assert.deepEqual(asked, ['/p6']);
    assert.equal(await news(), '');
    // It is kept with the row all the same.
    assert.match(await lcc.run('lccq --format=jsonl --fields=curl,mtime'), /p6","mtime":"2026-02-03T/);
    asked = [];
    await lcc.sh(
      `sitemap2url ${site.url}/s.xml | lcccpstate -q --statefile=elsewhere | lcccp -q --uns=${lcc.uns} --pid=1`,
    );
    await lcc.idle();
    assert.deepEqual(asked, []);
  });

  it('loses nothing when a child is 503, and gets its news; when it is back the two are equal again', async () => {
    // Without --state: no reading stands for the child.
    const bare = () =>
      lcc.sh(
        `sitemap2url --site=${site.url}/ >list; echo $?; lcccpstate -q --statefile=state <list | lcccp -q --uns=${lcc.uns} --pid=1`,
      );
    faults.set('/c7.gz', 503);
    pages.set('/p3', { type: 'text/html', content: '<p>news', lastmod: '2026-03-03' });
    pages.delete('/p8');
    const part = await bare();
    assert.equal(part.status, 0, part.stderr);
    assert.match(part.stdout, /^1\n/);
    await lcc.idle();
    assert.deepEqual(asked, ['/p3']);
    assert.equal((await held()).length, 60);
    faults.clear();
    const whole = await bare();
    assert.match(whole.stdout, /^0\n/);
    await lcc.idle();
    assert.deepEqual(await held(), served());
  });

  it('loses nothing when the document at the top is a page, cut, or empty', async () => {
    const before = await held();
    for (const [answer, status] of [
      ['<html>Sorry</html>', 65],
      ['<sitemapindex><sitemap><loc>', 65],
      ['', 65],
      [404, 66],
      [503, 75],
    ] as const) {
      faults.set('/s.xml', answer);
      const done = await lcc.sh(
        `sitemap2url ${site.url}/s.xml | lcccpstate --statefile=state | lcccp --uns=${lcc.uns} --pid=1`,
      );
      assert.equal(done.status, status, done.stderr);
    }
    faults.clear();
    // The site has really lost all its pages, or its generator has: --max-delete.
    faults.set('/s.xml', '<urlset></urlset>');
    assert.equal(
      (
        await lcc.sh(
          `sitemap2url ${site.url}/s.xml | lcccpstate --statefile=state | lcccp --uns=${lcc.uns} --pid=1`,
        )
      ).status,
      65,
    );
    faults.clear();
    await lcc.idle();
    assert.deepEqual([await held(), asked], [before, []]);
  });

  it('has pages without times asked for again by --revisit, which changes nothing where they are the same', async () => {
    const revisit = (more: string) =>
      lcc.sh(
        `sitemap2url --lastmod=ignore ${more} ${site.url}/s.xml | lcccpstate -q --statefile=revisit | lcccp -q --uns=${lcc.uns} --pid=1`,
      );
    const before = await lcc.run('lccq --format=jsonl --fields=curl,seq | sort');
    await revisit('--revisit=1d');
    await lcc.idle();
    assert.equal(asked.length, pages.size);
    assert.deepEqual(
      answered.filter(line => line.startsWith('/p') && !line.endsWith(' 304')),
      [],
    );
    assert.equal(await lcc.run('lccq --format=jsonl --fields=curl,seq | sort'), before);
  });

  const ofFeed = (path: string) =>
    longIt(
      `has the items of ${path} fetched, and again after a silent edit; what leaves the window stays`,
      async () => {
        const items = async () => {
          const done = await lcc.sh(
            `feed2url --state=feeds ${site.url}${path} | lcccpstate -q --statefile=feed --forget=90d | lcccp -q --uns=${lcc.uns} --pid=1`,
          );
          assert.equal(done.status, 0, done.stderr);
          await lcc.idle();
        };
        const [one, two] = [`${path}-1`, `${path}-2`];
        pages.set(one, { type: 'text/html', content: `<p>one of ${path}` });
        pages.set(two, { type: 'text/html', content: `<p>two of ${path}` });
        const second = { id: `${path}:2`, url: two, title: 'two' };
        feedItems = [{ id: `${path}:1`, url: one, title: 'one' }, second];
        await items();
        assert.deepEqual(asked.sort(), [one, two]);
        asked = [];
        pages.set(two, { type: 'text/html', content: `<p>two of ${path}, edited` });
        feedItems = [{ ...second, title: 'two!' }];
        await items();
        assert.deepEqual(asked, [two]);
        assert.deepEqual(await held(), served());
      },
      ['/feed.json', '/feed.rss'].includes(path),
    );
  Object.keys(FEEDS).forEach(ofFeed);
});
