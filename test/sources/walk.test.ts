import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { freshDir, index, line, Lists, page, PARTIAL_END, urlset, type SiteAnswer } from './lists.js';
import { base, clockAt, LIMITS, list, NOW_MS } from './support.js';

test('--site reads what robots.txt names, whatever the group; without a word there it is /sitemap.xml', async () => {
  const lists = await Lists.listen();
  const site = new URL(`${lists.url}/deep/page.html`);
  lists.documents.set('/sitemap.xml', urlset(page(0)));
  lists.documents.set('/a.xml', urlset(page(1, '2026-11-20T10:00:00+01:00')));
  lists.documents.set('/b.gz', gzipSync(gzipSync(`\ufeff${urlset(page(2, '2026-11-20'))}`)));
  const alone = await list([], { site });
  assert.deepEqual(alone.urls, [line(0)]);
  assert.deepEqual(lists.asked, ['/robots.txt', '/sitemap.xml']);
  lists.documents.set(
    '/robots.txt',
    `User-agent: other\nDisallow: /\nSitemap: ${lists.url}/a.xml\n\nSitemap: /b.gz\nSitemap: ${lists.url}/a.xml`,
  );
  const named = await list([], { site });
  assert.deepEqual(named.urls, [
    line(1, ' mtime="2026-11-20T09:00:00Z"'),
    line(2, ' mtime="2026-11-20T00:00:00Z"'),
  ]);
  assert.equal(named.stream, `<?lcc from="sitemap2url"?>\n${named.urls.join('\n')}\n<?lcc end?>\n`);
  assert.deepEqual(named.said, []);
  lists.documents.set('/robots.txt', (_, response) => void response.writeHead(403).end());
  assert.deepEqual((await list([], { site })).urls, [line(0)]);
  lists.documents.set('/robots.txt', (_, response) => void response.writeHead(500).end());
  const down = await list([], { site });
  assert.deepEqual([down.error?.code, down.stream], ['peer.unavailable', '<?lcc from="sitemap2url"?>\n']);
});

test('each url once, with the latest time; times to come do not count; the options say what is written', async () => {
  const lists = await Lists.listen();
  lists.documents.set(
    '/s.xml',
    urlset(
      page('a', '2026-01-01'),
      page('a.html?x=1&amp;y', '2027-01-01'),
      page('a', '2026-03-01'),
      page('a', '2026-02-01'),
      page('A.PDF'),
    ),
  );
  lists.documents.set('/t.xml', urlset(page('a', '2026-02-15')));
  const operands = [`${lists.url}/s.xml`, `${lists.url}/t.xml`];
  const plain = await list(operands);
  assert.deepEqual(plain.urls, [
    line('a.html?x=1&amp;y'),
    line('a', ' mtime="2026-03-01T00:00:00Z"'),
    line('A.PDF'),
  ]);
  const typed = await list(operands, {
    types: new Map([
      ['pdf', 'application/pdf'],
      ['html', 'text/html'],
    ]),
    dropsOutside: true,
  });
  assert.match(typed.urls[0] ?? '', /mimetype="text\/html" outofroot="drop"/);
  assert.match(typed.urls[2] ?? '', /mimetype="application\/pdf"/);
  const ignored = await list(operands, { ignoresLastmod: true });
  assert.ok(ignored.urls.every(url => !url.includes('mtime')));

  const DAY = 86_400_000;
  const turns = async (nowMs: number) =>
    (await list(operands, { revisitMs: DAY, clock: clockAt(nowMs) })).urls;
  const [today, tomorrow] = [await turns(NOW_MS), await turns(NOW_MS + DAY)];
  assert.equal(today[1], plain.urls[1]);
  const numbers = (urls: string[]) => urls.map(url => Number(/ revisit="(\d+)"/.exec(url)?.[1] ?? 0));
  assert.deepEqual(
    numbers(tomorrow),
    numbers(today).map(n => (n === 0 ? 0 : n + 1)),
  );
  // Spread over the day: of many urls about a quarter has its turn in six hours.
  lists.documents.set(
    '/many.txt',
    Array.from({ length: 400 }, (_, n) => `http://pages.example/m${n}`).join('\n'),
  );
  const many = async (nowMs: number) =>
    numbers((await list([`${lists.url}/many.txt`], { revisitMs: DAY, clock: clockAt(nowMs) })).urls);
  const [now, later] = [await many(NOW_MS), await many(NOW_MS + DAY / 4)];
  const moved = now.filter((n, i) => n !== later[i]).length;
  assert.ok(moved > 60 && moved < 140, String(moved));
});

test('a top document that is HTML, cut, empty or not there: the stream has no end', async () => {
  const lists = await Lists.listen();
  const failures: [string, string | SiteAnswer, string][] = [
    ['html', '<html></html>', 'data.malformed'],
    ['cut', urlset(page(1)).slice(0, 30), 'data.cut'],
    ['empty', '', 'data.malformed'],
    ['busy', (_, response) => void response.writeHead(503).end(), 'peer.busy'],
    ['many', (_, response) => void response.writeHead(429, { 'retry-after': '3600' }).end(), 'peer.busy'],
    ['gone', (_, response) => void response.writeHead(404).end(), 'input.missing'],
    ['error', (_, response) => void response.writeHead(500).end(), 'peer.unavailable'],
    ['torn', (_, response) => void response.destroy(), 'peer.unavailable'],
  ];
  for (const [name, answer, code] of failures) {
    lists.documents.set('/s.xml', answer);
    const done = await list([`${lists.url}/s.xml`]);
    assert.deepEqual([done.error?.code, done.stream], [code, '<?lcc from="sitemap2url"?>\n'], name);
    assert.ok(done.error?.message.startsWith(`${lists.url}/s.xml: `), done.error?.message);
  }
  const missing = await list([join(base, 'none.xml')]);
  assert.equal(missing.error?.code, 'input.missing');
  // One of two is read: what it has counts.
  lists.documents.set('/good.xml', urlset(page(1)));
  const two = await list([`${lists.url}/good.xml`, `${lists.url}/s.xml`]);
  assert.deepEqual([two.urls, two.stream.endsWith(PARTIAL_END)], [[line(1)], true]);
});

test('a site that asks for patience gets it, twice; a long wait is none', async () => {
  const lists = await Lists.listen();
  const busy =
    (times: number): SiteAnswer =>
    (_, response) =>
      times-- > 0
        ? void response.writeHead(times % 2 === 0 ? 503 : 429, { 'retry-after': '7' }).end()
        : void response.end(urlset(page(1)));
  const waited: number[] = [];
  const clock = clockAt(NOW_MS, waited);
  lists.documents.set('/s.xml', busy(2));
  assert.deepEqual((await list([`${lists.url}/s.xml`], { clock })).urls, [line(1)]);
  assert.deepEqual(waited, [7000, 7000]);
  lists.documents.set('/s.xml', busy(3));
  assert.equal((await list([`${lists.url}/s.xml`], { clock })).error?.code, 'peer.busy');
  lists.documents.set('/s.xml', (_, response) => void response.writeHead(503, { 'retry-after': '61' }).end());
  waited.length = lists.asked.length = 0;
  assert.equal((await list([`${lists.url}/s.xml`], { clock })).error?.code, 'peer.busy');
  assert.deepEqual([waited, lists.asked], [[], ['/s.xml']]);
});

test('indexes end: circles, too deep, too many documents, each named', async () => {
  const lists = await Lists.listen();
  const at = (path: string) => lists.url + path;
  lists.documents.set('/self.xml', index(at('/self.xml'), at('/other.xml'), at('/s.xml')));
  lists.documents.set('/other.xml', index(at('/self.xml')));
  lists.documents.set('/s.xml', urlset(page(1)));
  const circle = await list([at('/self.xml')]);
  assert.deepEqual([circle.urls, circle.result?.failed, circle.result?.documents], [[line(1)], 0, 3]);
  for (let n = 1; n <= 5; n++) lists.documents.set(`/d${n}.xml`, index(at(`/d${n + 1}.xml`), at('/s.xml')));
  const deep = await list([at('/d1.xml')]);
  assert.deepEqual([deep.urls, deep.result?.failed], [[line(1)], 1]);
  assert.match(deep.said.join(), /d4\.xml: indexes list indexes more than 3 deep/);

  const children = Number(process.env['LCC_TEST_DOCUMENTS'] ?? 300) * 5;
  const path = (n: number) => `/many/${n}.txt`;
  lists.documents.set('/many.xml', index(...Array.from({ length: children + 2 }, (_, n) => at(path(n)))));
  for (let n = 0; n < children + 2; n++) lists.documents.set(path(n), `http://pages.example/${n}`);
  let most = 0;
  let open = 0;
  const answer = lists.site.answer;
  lists.site.answer = (request, response) => {
    most = Math.max(most, ++open);
    response.on('finish', () => (open -= 1));
    answer(request, response);
  };
  const documents = { most: children + 1, text: `${children + 1}` };
  const many = await list([at('/many.xml')], { limits: { ...LIMITS, documents } });
  assert.equal(many.urls.length, children);
  assert.ok(many.stream.endsWith(PARTIAL_END));
  assert.match(many.said.join(), /2 documents not read: the limit of a run is \d+/);
  assert.equal(most, 1);
});

test('over a limit of entries a document has failed; what is unusually large is said; nothing is cut in silence', async () => {
  const lists = await Lists.listen();
  lists.documents.set('/s.xml', urlset(...Array.from({ length: 11 }, (_, n) => page(n))));
  lists.documents.set('/i.xml', index(`${lists.url}/s.xml`));
  const entries = { most: 10, text: '10' };
  const over = await list([`${lists.url}/i.xml`], { limits: { ...LIMITS, entries } });
  assert.deepEqual([over.urls.length, over.result?.failed], [10, 1]);
  assert.match(over.said.join(), /s\.xml: it lists more than 10 urls \(after 10 entries\)/);
  assert.ok(over.stream.endsWith(PARTIAL_END));
  lists.documents.set(
    '/l.txt',
    Array.from({ length: 50_001 }, (_, n) => `http://pages.example/${n}`).join('\n'),
  );
  const large = await list([`${lists.url}/l.txt`]);
  assert.deepEqual([large.urls.length, large.result?.failed], [50_001, 0]);
  assert.match(large.said.join(), /50001 entries, 2 MB: more than a sitemap is to have/);
  const odd = urlset(...Array.from({ length: 8 }, (_, n) => `<url><loc>ftp://x/${n}</loc></url>`), page(1));
  lists.documents.set('/odd.xml', odd);
  const left = await list([`${lists.url}/odd.xml`]);
  assert.deepEqual([left.urls, left.result?.leftOut, left.result?.coverage], [[line(1)], 8, 'part']);
  assert.equal(left.said.length, 6);
  assert.match(
    left.said.join('\n'),
    /ftp:\/\/x\/0 is no http or https url; left out\n[^]*3 more entries left out; -v/,
  );
});

test('other hosts are asked only at public addresses, the named one wherever it is', async () => {
  const lists = await Lists.listen();
  const inner = await Lists.listen();
  inner.documents.set('/s.xml', urlset(page('inner')));
  const elsewhere = `http://localhost:${new URL(inner.url).port}/s.xml`;
  lists.documents.set('/i.xml', index(elsewhere, `${lists.url}/moved.xml`, `${lists.url}/s.xml`));
  lists.documents.set(
    '/moved.xml',
    (_, response) => void response.writeHead(302, { location: elsewhere }).end(),
  );
  lists.documents.set('/s.xml', urlset(page(1)));
  const done = await list([`${lists.url}/i.xml`]);
  assert.deepEqual([done.urls, done.result?.failed], [[line(1)], 2]);
  assert.match(done.said.join(), /guard: localhost .*--allow-address/);
  assert.deepEqual(inner.asked, []);
});

test('a feed among sitemaps names its latest only: nothing that it lacks is gone', async () => {
  const lists = await Lists.listen();
  const rss =
    '<rss version="2.0"><channel><title>t</title><item><link>/new</link><title>x</title></item></channel></rss>';
  lists.documents.set('/i.xml', index(`${lists.url}/s.xml`, `${lists.url}/feed`));
  lists.documents.set('/s.xml', urlset(page(1)));
  lists.documents.set('/feed', rss);
  const stateDir = freshDir();
  for (let run = 0; run < 2; run++) {
    const done = await list([`${lists.url}/i.xml`], { stateDir });
    assert.equal(done.urls[0], line(1));
    assert.match(
      done.urls[1] ?? '',
      new RegExp(`^<url curl="${lists.url}/new" mimetype="\\*/\\*" entry="[0-9a-f]{32}"/>$`),
    );
    assert.deepEqual([done.result?.failed, done.stream.endsWith(PARTIAL_END)], [0, true]);
    lists.validates = true;
  }
  const feeds = await list([`${lists.url}/feed`], { from: 'feed2url', stateDir });
  assert.match(
    feeds.stream,
    /^<\?lcc from="feed2url" set="partial"\?>\n<url [^]*<\?lcc end set="partial"\?>\n$/,
  );
  const none = await list([`${lists.url}/s.xml`], { from: 'feed2url' });
  assert.deepEqual(
    [none.error?.code, none.stream],
    ['data.malformed', '<?lcc from="feed2url" set="partial"?>\n'],
  );
});
