import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { freshDir, index, line, Lists, page, PARTIAL_END, urlset, type SiteAnswer } from './lists.js';
import { list } from './support.js';

test('whatever of a list is left out makes the whole a part, also when it is as it was', async () => {
  const lists = await Lists.listen();
  lists.validates = true;
  const at = (path: string) => lists.url + path;
  lists.documents.set('/s.xml', urlset(page(1), page(2)));
  lists.documents.set('/t.txt', 'http://pages.example/3\n');
  const whole = index(at('/s.xml'), at('/t.txt'));
  const spoilt: [string, string | Buffer][] = [
    ['/i.xml', whole.replace(at('/t.txt'), '/t.txt')],
    ['/i.xml', whole.replace(at('/t.txt'), `${at('/t.txt')}?a=&nbsp;1`)],
    ['/i.xml', Buffer.from(whole.replace('/t.txt', '/\xe4.txt'), 'latin1')],
    ['/i.xml', index(at('/s.xml'), '').replace('<loc></loc>', `<LOC>${at('/t.txt')}</LOC>`)],
    ['/i.xml', whole.replace('</sitemapindex>', '<x><loc>http://e/</loc></x></sitemapindex>')],
    ['/s.xml', urlset(page(1), '<url><loc>http//pages.example/2</loc></url>')],
    ['/s.xml', urlset(page(1), '<URL><loc>http://pages.example/2</loc></URL>')],
    ['/t.txt', 'http://pages.example/4\nhttp:/\\/[\n'],
    ['/robots.txt', `Sitemap: ftp://e/\nSitemap: ${at('/i.xml')}`],
    ['/robots.txt', `Sitemap: ${at('/i.xml')}\nSitemap:http://[\n`],
  ];
  for (const [path, document] of spoilt) {
    lists.documents.set('/robots.txt', `Sitemap: ${at('/i.xml')}`);
    lists.documents.set('/i.xml', whole);
    lists.documents.set('/s.xml', urlset(page(1), page(2)));
    lists.documents.set('/t.txt', 'http://pages.example/3\n');
    const stateDir = freshDir();
    const site = new URL(lists.url);
    const good = await list([], { site, stateDir });
    assert.deepEqual([good.result?.coverage, good.urls.length], ['all', 3]);
    lists.documents.set(path, document);
    for (const options of [{ site }, { site, stateDir }, { site, stateDir }]) {
      const done = await list([], options);
      assert.deepEqual(
        [done.result?.coverage, done.result?.leftOut],
        ['part', 1],
        `${path} ${String(document)}`,
      );
      assert.ok(done.stream.endsWith(PARTIAL_END));
    }
  }
  // Pages and lists in one document are both there when it is as it was.
  lists.documents.set('/robots.txt', `Sitemap: ${at('/i.xml')}`);
  lists.documents.set(
    '/i.xml',
    index(at('/s.xml')).replace('</sitemapindex>', `${page('home')}</sitemapindex>`),
  );
  lists.documents.set('/s.xml', urlset(page(1)));
  const stateDir = freshDir();
  for (let run = 0; run < 2; run++) {
    const done = await list([], { site: new URL(lists.url), stateDir });
    assert.deepEqual([done.urls, done.result?.coverage], [[line('home'), line(1)], 'all']);
  }
});

test('what was read of the only document counts, as a part, in whatever way it came to an end', async () => {
  const lists = await Lists.listen();
  const damaged: (string | SiteAnswer)[] = [
    `<urlset>${page(1)}<url><loc>http://pages.exa`,
    urlset(page(1), '<url><loc>http://e/?a&b</loc></url>', page(2)),
    `http://pages.example/1\nhttp://pages.example/2 ${'x'.repeat(2_000_000)}`,
    (_, response) => {
      response.writeHead(200, { 'content-length': '1000' }).write('http://pages.example/1\nhttp://pages.ex');
      setImmediate(() => response.destroy());
    },
  ];
  for (const [n, answer] of damaged.entries()) {
    lists.documents.set('/s.xml', answer);
    const done = await list([`${lists.url}/s.xml`]);
    assert.equal(done.error, undefined, String(n));
    assert.deepEqual(
      [done.urls, done.result?.coverage, done.result?.failed],
      [[line(1)], 'part', 1],
      String(n),
    );
    assert.match(done.said.join(), /\(after 1 entry\)/);
  }
});

test('the last line of a text that only its connection ends is none without a newline', async () => {
  const lists = await Lists.listen();
  const ends =
    (body: string | Buffer): SiteAnswer =>
    (_, response) => {
      response.socket?.end(Buffer.concat([Buffer.from('HTTP/1.0 200 OK\r\n\r\n'), Buffer.from(body)]));
    };
  const read = async (body: string | Buffer) => {
    lists.documents.set('/s.txt', ends(body));
    const done = await list([`${lists.url}/s.txt`]);
    return [done.urls.length, done.result?.coverage];
  };
  assert.deepEqual(await read('http://pages.example/1\nhttp://pages.example/2'), [1, 'part']);
  assert.deepEqual(await read('http://pages.example/1\nhttp://pages.example/2\n'), [2, 'all']);
  assert.deepEqual(await read('http://pages.example/1'), [0, 'part']);
  assert.deepEqual(await read(gzipSync('http://pages.example/1\nhttp://pages.example/2')), [2, 'all']);
  assert.deepEqual(await read(urlset(page(1))), [1, 'all']);
  lists.documents.set('/robots.txt', ends(`Sitemap: ${lists.url}/a.xml\nSitemap: ${lists.url}/b`));
  lists.documents.set('/a.xml', urlset(page(1)));
  lists.documents.set('/b', urlset(page(2)));
  const cut = await list([], { site: new URL(lists.url) });
  assert.deepEqual([cut.urls, cut.result?.coverage], [[line(1)], 'part']);
});

test('times that are not understood are said, once a document', async () => {
  const lists = await Lists.listen();
  lists.documents.set(
    '/s.xml',
    urlset(page(1, '08.01.2024'), page(2, '20240108T101500Z'), page(3, '2024-01-08+01:00'), page(4, '')),
  );
  const done = await list([`${lists.url}/s.xml`]);
  assert.deepEqual(done.urls, [line(1), line(2), line(3, ' mtime="2024-01-07T23:00:00Z"'), line(4)]);
  assert.deepEqual(done.said, [
    `${lists.url}/s.xml: 2 times not understood, such as 08.01.2024: these say no change`,
  ]);
  assert.equal(done.result?.coverage, 'all');
});

test('the mark of a page is that of all its items, in whatever order and feed; a time goes before it', async () => {
  const lists = await Lists.listen();
  const item = (what: string, text = '') =>
    `<item><title>${what}</title><link>http://pages.example/log#${what}</link><description>${text}</description></item>`;
  const feed = (...items: string[]) =>
    `<rss version="2.0"><channel><title>t</title>${items.join('')}</channel></rss>`;
  const read = async (...feeds: string[]) => {
    for (const [n, text] of feeds.entries()) lists.documents.set(`/${n}`, text);
    const done = await list(
      feeds.map((_, n) => `${lists.url}/${n}`),
      { from: 'feed2url' },
    );
    assert.equal(done.urls.length, 1);
    return / entry="([0-9a-f]{32})"/.exec(done.urls[0] ?? '')?.[1];
  };
  const both = await read(feed(item('v2'), item('v1', 'one')));
  assert.equal(await read(feed(item('v1', 'one'), item('v2'))), both);
  assert.equal(await read(feed(item('v2')), feed(item('v1', 'one'))), both);
  const others = [
    feed(item('v2'), item('v1', 'edited')),
    feed(item('v2', 'edited'), item('v1', 'one')),
    feed(item('v2')),
  ];
  const marks = [both, await read(others[0]!), await read(others[1]!), await read(others[2]!)];
  assert.equal(new Set(marks).size, 4);
  // The same item twice, edited alike in both, is another mark, too.
  assert.notEqual(
    await read(feed(item('v', 'a')), feed(item('v', 'a'))),
    await read(feed(item('v', 'b')), feed(item('v', 'b'))),
  );
  lists.documents.set('/s.xml', urlset(page('log'), page('dated', '2026-01-01')));
  lists.documents.set('/f', feed(item('v'), item('v').replace('/log#v', '/dated')));
  const mixed = await list([`${lists.url}/s.xml`, `${lists.url}/f`]);
  assert.match(
    mixed.urls.join('\n'),
    /^<url curl="[^"]*\/dated" mimetype="\*\/\*" mtime="2026-01-01T00:00:00Z"\/>\n<url curl="[^"]*\/log" [^\n]* entry="/,
  );
});
