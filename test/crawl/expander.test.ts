import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { CrawlReader } from '../../src/db/cache/crawl.js';
import { compileGlob } from '../../src/lib/glob.js';
import { Expander } from '../../src/crawl/expander.js';
import type { FoundLink, ExpandOptions, UnwantedPage } from '../../src/crawl/options.js';
import { LinkOwners } from '../../src/crawl/owners.js';
import { complaintOf } from '../../src/crawl/seeds.js';
import type { UrlRecord } from '../../src/wire/url.js';
import { ManualClock } from '../support/manual-clock.js';
import { TestCache } from '../support/cache.js';

const OPTIONS: ExpandOptions = {
  assets: false,
  nofollow: 'all',
  excluded: [],
  maxHops: 64,
  robotName: 'examplebot',
  maxPageBytes: 1024 * 1024,
  maxPageLinks: 10_000,
  maxLinkBytes: 2000,
  maxValueLength: 8192,
  pageTimeoutMs: 60_000,
  maxSegments: 20,
  maxRepeats: 3,
  maxParameters: 12,
  maxQueries: 5000,
  maxCopies: 3,
  sentPlaces: 1024,
};
const SITE = 'http://example.org/';

let cache: TestCache;
let db: CrawlReader;
beforeEach(() => {
  cache = new TestCache();
  db = new CrawlReader(cache.dbPath);
});
afterEach(() => {
  db.close();
  cache.close();
});

function expander(more: Partial<ExpandOptions> = {}, named: string[] = []) {
  const found: FoundLink[] = [];
  const unwanted: UnwantedPage[] = [];
  const complaints: string[] = [];
  const all = new Expander({
    options: { ...OPTIONS, ...more },
    db,
    owners: new LinkOwners([{ pid: 1, roots: [SITE] }]),
    sink: {
      add: link => void found.push(link),
      unwanted: page => void unwanted.push(page),
      finish: () => Promise.resolve(),
    },
    clock: new ManualClock(),
    complain: message => void complaints.push(message),
    explain: message => void named.push(message),
  });
  return { all, found, unwanted, complaints, curls: () => found.map(({ curl }) => curl.replace(SITE, '')) };
}

interface TestPage {
  path?: string;
  mimetype?: string;
  hops?: string;
  finalurl?: string;
  robots?: string;
  charset?: string;
}

/** Stores a page and gives the record that lccq has of it. */
function page(content: string | Uint8Array, options: TestPage = {}): UrlRecord {
  const { path = 'page', mimetype = 'text/html', hops, finalurl, robots, charset } = options;
  const file = cache.put({ curl: `${SITE}${path}`, mimetype, content });
  const extra: Record<string, string> = {};
  for (const [name, value] of Object.entries({ hops, finalurl, robots }))
    if (value !== undefined) extra[name] = value;
  return {
    curl: `${SITE}${path}`,
    mimetype,
    pid: '1',
    file,
    md5: createHash('md5').update(content).digest('hex'),
    ...(charset !== undefined && { http_charset: charset }),
    extra,
  };
}

describe('links of stored pages', () => {
  it('go to their owner, one link further, once', async () => {
    const { all, found } = expander();
    await all.expand(page('<a href=a><a href=/b#x><a href=http://other.example/>', { hops: '2' }));
    await all.expand(page('<a href=/a>', { path: 'other', hops: '2' }));
    assert.deepEqual(found, [
      { pid: 1, curl: `${SITE}a`, furl: undefined, hops: 3 },
      { pid: 1, curl: `${SITE}b`, furl: undefined, hops: 3 },
    ]);
    assert.deepEqual(
      { ...all.counts, traps: 0 },
      { pages: 2, links: 4, sent: 2, unwanted: 0, unread: 0, traps: 0 },
    );
  });

  it('lead elsewhere from another folder, however alike they are written', async () => {
    const { all, curls } = expander();
    for (const path of ['a/1', 'a/2', 'b/1', 'b/2?q'])
      await all.expand(page(`<a href=x><a href=?y>${path}`, { path }));
    assert.deepEqual(curls(), ['a/x', 'a/1?y', 'a/2?y', 'b/x', 'b/1?y', 'b/2?y']);
  });

  it('are not sent when they are held, wait, or are known not to be had', async () => {
    cache.put({ curl: `${SITE}held`, mimetype: 'application/pdf' });
    cache.db.exec(`INSERT INTO qdb(pos, pid, curl, mimetype, psetid) VALUES (1, 1, '${SITE}waits', '*/*', 1);
      INSERT INTO known(pid, curl, code, asked, until) VALUES (1, '${SITE}known', 404, 0, ${Math.floor(new ManualClock().nowMs() / 1000) + 86_400}), (1, '${SITE}was', 404, 0, 0)`);
    const { all, curls } = expander();
    await all.expand(page('<a href=held><a href=waits><a href=known><a href=was><a href=page>'));
    assert.deepEqual(curls(), ['was']);
  });

  it('are relative to where the page came from, or its base', async () => {
    const { all, curls } = expander();
    await all.expand(page('<a href=1>', { path: 'x/a', finalurl: `${SITE}y/b` }));
    await all.expand(page('<base href=z/><a href=2>', { path: 'x/c' }));
    assert.deepEqual(curls(), ['y/1', 'x/z/2']);
  });

  it('are read in the encoding of the page', async () => {
    const { all, curls } = expander();
    await all.expand(page(Buffer.from('<a href="?q=\xe9">', 'latin1'), { charset: 'windows-1252' }));
    await all.expand(page(Buffer.from('\ufeff<a href="?q=é">', 'utf16le'), { path: 'wide' }));
    assert.deepEqual(curls(), ['page?q=%E9', 'wide?q=%C3%A9']);
  });

  it('are none of deletions, of content elsewhere, of other types and other providers', async () => {
    const { all, found } = expander();
    const record = page('<a href=a>');
    await all.expand({ ...record, op: 'delete' });
    const { file, ...elsewhere } = record;
    assert.ok(file);
    await all.expand(elsewhere);
    await all.expand({ ...record, pid: '2' });
    await all.expand({ ...record, mimetype: 'text/plain' });
    assert.deepEqual([found, all.counts.pages], [[], 0]);
  });

  it('are passed over where the file is missing, altered, too large or no text', async () => {
    const { all, complaints } = expander({ maxPageBytes: 100 });
    const altered = page('<a href=a>');
    writeFileSync(altered.file ?? '', '<a href=b>');
    await all.expand(altered);
    await all.expand({ ...page('<a href=a>'), file: '/nowhere' });
    await all.expand(page('<a href=a>'.repeat(20)));
    await all.expand(page(Buffer.from('\x7fELF\x02\x01\x01\0\0\0\0')));
    assert.deepEqual([all.counts.unread, all.counts.sent], [4, 0]);
    assert.deepEqual(complaints, [
      `${SITE}page: larger than links.max_page_bytes, its links are not looked at`,
    ]);
  });

  it('that say nofollow are left, as far as asked for', async () => {
    const of = async (nofollow: ExpandOptions['nofollow'], robots?: string) => {
      const { all, curls } = expander({ nofollow });
      await all.expand(page('<a href=1><a rel=nofollow href=2>', robots === undefined ? {} : { robots }));
      return curls().join('');
    };
    assert.deepEqual([await of('all'), await of('page'), await of('none')], ['1', '12', '12']);
    assert.deepEqual(
      [await of('all', 'nofollow'), await of('page', 'nofollow'), await of('none', 'nofollow')],
      ['', '', '12'],
    );
  });

  it('of a page with noindex are followed, and the page is told to be unwanted', async () => {
    const { all, curls, unwanted } = expander();
    await all.expand(page('<meta name=ExampleBot content=NOINDEX><a href=1>'));
    await all.expand(page('<a href=2>', { path: 'b', robots: 'otherbot: nofollow, examplebot: none' }));
    assert.deepEqual(curls(), ['1']);
    assert.deepEqual(
      unwanted.map(({ pid, curl, mimetype, md5 }) => [pid, curl, mimetype, md5?.length]),
      [
        [1, `${SITE}page`, 'text/html', 32],
        [1, `${SITE}b`, 'text/html', 32],
      ],
    );
  });

  it('are left out that are excluded', async () => {
    const { all, curls } = expander({ excluded: [compileGlob(`${SITE}private/**`), compileGlob('**.zip')] });
    await all.expand(page('<a href=private/a/b><a href=x.zip><a href=privates>'));
    assert.deepEqual(curls(), ['privates']);
  });

  it('to what shows a page, style sheets among it, are sent when asked for', async () => {
    const { all, curls } = expander({ assets: true });
    await all.expand(page('<img src=1.png><link rel=stylesheet href=s.css>'));
    await all.expand(
      page('@import "2.css"; a { background: url(3.png) }', { path: 'css/s', mimetype: 'text/css' }),
    );
    assert.deepEqual(curls(), ['1.png', 's.css', 'css/2.css', 'css/3.png']);
  });

  it('that servers read in several ways are a kind of trap of their own, each named; a seed is told why', async () => {
    const named: string[] = [];
    const { all, curls } = expander({}, named);
    const left = ['/wiki/AC%2FDC', '/a/.%20/b', '/x%00y', '/a/..;v=1/b', '/c/%2e%2e%2fd'];
    const links = [...left, '/s?x=a\\b', '/t?y=a/b%2Fc', '/ok', 'http://other.example/a%2Fb'];
    await all.expand(page(links.map(href => `<a href="${href}">x</a>`).join('')));
    assert.deepEqual(curls(), ['s?x=a%5Cb', 't?y=a/b%2Fc', 'ok']);
    assert.deepEqual([...all.counts.traps], [['ambiguous', left.length]]);
    assert.equal(named.length, left.length);
    assert.match(named[0] ?? '', /^left out as a trap, ambiguous: http:\/\/example\.org\/wiki\/AC%2FDC$/);
    const seed = await all.seed(`${SITE}wiki/AC%2FD`);
    assert.deepEqual(seed, {
      is: 'ambiguous',
      why: 'has %2F in its path: some servers read that as a slash',
    });
    assert.match(
      complaintOf(`${SITE}wiki/AC%2FD`, seed, 0) ?? '',
      /AC%2FD: not sent: it has %2F in its path/,
    );
    assert.deepEqual(await all.seed('http://other.example/a%2Fb'), { is: 'unowned' });
  });

  it('of lists are relative to xml:base of what is around them; a word for nothing is no link', async () => {
    const { all, curls } = expander();
    const feed = (inside: string) => page(inside, { path: 'f/x', mimetype: 'application/atom+xml' });
    await all.expand(
      feed(
        `<feed xml:base="/b/"><entry xml:base="2024/"><link href="1"/></entry><entry><link href="2" xml:base="l/"/></entry>
         <entry><link href="3"/></entry></feed>`,
      ),
    );
    await all.expand(
      feed(
        `<rss><channel xml:base="/c/"><item xml:base="i/"><link>4.html</link></item><item><guid>12345</guid></item>
         <item><link>N/A</link></item></channel></rss>`,
      ),
    );
    assert.deepEqual(curls(), ['b/2024/1', 'b/l/2', 'b/3', 'c/i/4.html']);
  });

  it('of feeds and sitemaps are sent, those of other XML only where it is XHTML', async () => {
    const { all, curls } = expander();
    await all.expand(
      page('<rss><channel><item><link>1</link></item></channel></rss>', { mimetype: 'application/rss+xml' }),
    );
    await all.expand(
      page(`<urlset><url><loc>${SITE}2</loc></url></urlset>`, { path: 's', mimetype: 'application/xml' }),
    );
    await all.expand(page('<html><a href="3"/></html>', { path: 'h', mimetype: 'text/xml' }));
    await all.expand(page('{"a":"b"}', { path: 'j', mimetype: 'application/json' }));
    const feed = { version: 'https://jsonfeed.org/version/1', items: [{ url: '4' }] };
    await all.expand(page(JSON.stringify(feed), { path: 'f', mimetype: 'application/feed+json' }));
    assert.deepEqual(curls(), ['1', '2', '3', '4']);
    assert.equal(all.counts.unread, 0);
  });

  it('of sitemaps that are packed, up to twice, and of those in plain text', async () => {
    const { all, curls, complaints } = expander({ maxPageBytes: 2000 });
    const gz = 'application/gzip';
    const urlset = (n: number) => `<urlset><url><loc>${SITE}${n}</loc></url></urlset>`;
    await all.expand(page(gzipSync(urlset(1)), { path: '1.gz', mimetype: gz }));
    await all.expand(
      page(gzipSync(gzipSync(`\n${urlset(2)}`)), { path: '2.gz', mimetype: 'application/x-gzip' }),
    );
    await all.expand(page(gzipSync(urlset(3)), { path: 'x', mimetype: 'application/xml' }));
    await all.expand(page(gzipSync(`${SITE}4\n`), { path: '4.gz', mimetype: gz }));
    await all.expand(page(`${SITE}5\n${SITE}6\n`, { path: 't', mimetype: 'text/plain' }));
    await all.expand(page(gzipSync(urlset(7)).subarray(0, -8), { path: 'cut.gz', mimetype: gz }));
    assert.deepEqual(curls(), ['1', '2', '3', '4', '5', '6', '7']);
    assert.deepEqual([all.counts.pages, all.counts.unread, complaints], [6, 0, []]);
    // One that is a bomb.
    await all.expand(page(gzipSync(urlset(8) + ' '.repeat(3000)), { path: '8.gz', mimetype: gz }));
    assert.deepEqual([curls().length, all.counts.unread, complaints.length], [7, 1, 1]);
    assert.match(complaints[0] ?? '', /8\.gz: larger than links\.max_page_bytes/);
  });

  it('are not looked for in what is no list: archives, texts, and not said to be too large either', async () => {
    const { all, curls, complaints } = expander({ maxPageBytes: 2000 });
    const noise = randomBytes(3000);
    const gz = 'application/gzip';
    await all.expand(page(gzipSync(noise), { path: 'a.tgz', mimetype: gz }));
    await all.expand(page(gzipSync('<html><a href=no>'), { path: 'h.gz', mimetype: gz }));
    await all.expand(page(Buffer.from('1f8b0800', 'hex'), { path: 'b.gz', mimetype: gz }));
    await all.expand(page(Buffer.from('1f8bffff', 'hex'), { path: 'c.gz', mimetype: gz }));
    await all.expand(page(`See ${SITE}1\n${'text '.repeat(1000)}`, { path: 't', mimetype: 'text/plain' }));
    assert.deepEqual([curls(), all.counts.unread, complaints], [[], 0, []]);
  });

  it('keep a session in what is fetched', async () => {
    const { all, found } = expander();
    await all.expand(page('<a href="a;jsessionid=1">'));
    assert.deepEqual(found, [{ pid: 1, curl: `${SITE}a`, furl: `${SITE}a;jsessionid=1`, hops: 1 }]);
  });
});

describe('traps of a crawl', () => {
  it('end, each counted by its name', async () => {
    const { all, curls } = expander({ maxHops: 2, maxQueries: 2 });
    await all.expand(page('<a href=1>', { hops: '2' }));
    await all.expand(page('<a href="x?1"><a href="x?2"><a href="x?3">', { path: 'b' }));
    await all.expand(page('<link rel=canonical href=c><a href=no>', { path: 'c?sort=1' }));
    await all.expand(page(`<a href="${'y'.repeat(2000)}"><a href=z/z/z/z>`, { path: 'd' }));
    await all.expand(page(`<a href="${'y'.repeat(9000)}">`, { path: 'e' }));
    assert.deepEqual(curls(), ['x?1', 'x?2', 'c']);
    assert.deepEqual(Object.fromEntries(all.counts.traps), {
      hops: 1,
      queries: 1,
      canonical: 1,
      long: 2,
      repeated: 1,
    });
  });

  it('do not open pages whose content is held under other urls of the crawl', async () => {
    const { all, curls } = expander();
    const records = ['p', 'q', 'r'].map((path, i) => page('<a href=more/>', { path, hops: String(i) }));
    cache.db.exec('UPDATE lccurl SET hops = 1');
    for (const record of records) await all.expand(record);
    assert.deepEqual(curls(), []);
    assert.deepEqual([...all.counts.traps], [['copies', 3]]);
    const other = expander({ maxCopies: 4 });
    for (const record of records) await other.all.expand(record);
    assert.deepEqual(other.curls(), ['more/']);
  });

  it('a page has a limit of links, and what it cuts is said', async () => {
    const { all, found, complaints } = expander({ maxPageLinks: 2 });
    await all.expand(page('<a href=1><a href=2><a href=3>'));
    assert.equal(found.length, 2);
    assert.deepEqual(complaints, [
      `${SITE}page: more links than links.max_page_links; those found so far count`,
    ]);
  });
});

it('a crawl begins with urls that somebody owns', async () => {
  const { all, found } = expander();
  assert.deepEqual(
    [
      await all.seed('HTTP://example.org/%7ea#x'),
      await all.seed('http://other.example/'),
      await all.seed('no url'),
    ].map(outcome => outcome.is),
    ['sent', 'unowned', 'unowned'],
  );
  assert.deepEqual(found, [{ pid: 1, curl: `${SITE}~a`, furl: undefined, hops: 0 }]);
});
