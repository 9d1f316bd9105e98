import assert from 'node:assert/strict';
import { readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { freshDir, index, line, Lists, page, PARTIAL_END, urlset, type SiteAnswer } from './lists.js';
import { list, NO_EXTRAS } from './support.js';

test('one child of 20 is 503: the news arrive, the end says that it is a part; with a copy nothing is missing', async () => {
  const lists = await Lists.listen();
  const children = Array.from({ length: 20 }, (_, n) => `/c${n}.xml`);
  lists.documents.set('/index.xml', index(...children.map(path => lists.url + path)));
  for (const [n, path] of children.entries()) lists.documents.set(path, urlset(page(n)));
  const all = Array.from({ length: 20 }, (_, n) => line(n));
  const stateDir = freshDir();
  assert.deepEqual((await list([`${lists.url}/index.xml`], { stateDir })).urls, all);

  lists.documents.set('/c7.xml', (_, response) => void response.writeHead(503).end());
  lists.documents.set('/c3.xml', urlset(page(3), page('news')));
  const news = [...all.slice(0, 4), line('news'), ...all.slice(4)];
  const part = await list([`${lists.url}/index.xml`]);
  assert.deepEqual(
    part.urls,
    news.filter(url => url !== line(7)),
  );
  assert.ok(part.stream.endsWith(PARTIAL_END));
  assert.deepEqual([part.result?.failed, part.result?.coverage], [1, 'part']);
  assert.deepEqual(part.said, [`${lists.url}/c7.xml: the answer is status 503`]);

  const stoodIn = await list([`${lists.url}/index.xml`], { stateDir });
  assert.deepEqual(stoodIn.urls, news);
  // A page that the others have no more may be in it today.
  assert.deepEqual([stoodIn.result?.coverage, stoodIn.stream.endsWith(PARTIAL_END)], ['part', true]);
  assert.match(stoodIn.said.join(), /c7\.xml: the answer is status 503; what it had .* ago is taken/);
  assert.equal(stoodIn.result?.failed, 0);
  // Too old to stand for it: --stale.
  for (const name of readdirSync(stateDir)) utimesSync(join(stateDir, name), 1, 1);
  const stale = await list([`${lists.url}/index.xml`], { stateDir });
  assert.deepEqual([stale.urls.length, stale.result?.failed], [20, 1]);
  assert.ok(stale.stream.endsWith(PARTIAL_END));

  for (const [how, answer] of Object.entries<string | SiteAnswer>({
    '404 though it is listed': (_, response) => void response.writeHead(404).end(),
    'another page': '<html><p>Sorry</html>',
    'cut by the connection': (_, response) => {
      response.writeHead(200, { 'content-length': '1000' }).write(urlset(page('early')).slice(0, -9));
      setImmediate(() => response.destroy());
    },
    'malformed after an entry': `<urlset>${page('early')}<url></x>`,
  })) {
    lists.documents.set('/c7.xml', answer);
    const done = await list([`${lists.url}/index.xml`]);
    assert.ok(done.stream.endsWith(PARTIAL_END), how);
    assert.equal(done.urls.includes(line('early')), /cut|malformed/.test(how), how);
    assert.equal(done.result?.failed, 1, how);
  }
  lists.documents.set('/c7.xml', urlset(page(7)));
  assert.deepEqual((await list([`${lists.url}/index.xml`], { stateDir })).urls, news);
});

test('with --state what has not changed is not sent again, and is listed all the same', async () => {
  const lists = await Lists.listen();
  lists.validates = true;
  lists.documents.set('/robots.txt', `Sitemap: ${lists.url}/i.xml`);
  lists.documents.set('/i.xml', index(`${lists.url}/a.xml`, `${lists.url}/b.xml`));
  lists.documents.set('/a.xml', urlset(page(1, '2026-01-01'), '<url><loc>ftp://x/</loc></url>'));
  lists.documents.set('/b.xml', urlset(page(2)));
  const stateDir = freshDir();
  const site = new URL(lists.url);
  const first = await list([], { site, stateDir });
  const answered: number[] = [];
  const answer = lists.site.answer;
  lists.site.answer = (request, response) => {
    response.on('finish', () => answered.push(response.statusCode));
    answer(request, response);
  };
  const again = await list([], { site, stateDir });
  assert.equal(again.stream, first.stream);
  assert.deepEqual(answered, [304, 304, 304, 304]);
  assert.deepEqual([first.result?.leftOut, again.result?.leftOut], [1, 1]);
  // Asked for more than was read: read again.
  answered.length = 0;
  await list([], { site, stateDir, extras: { ...NO_EXTRAS, images: true } });
  assert.deepEqual(answered, [200, 200, 200, 200]);
  // A damaged copy counts as none, one that is listed no more goes.
  for (const name of readdirSync(stateDir)) {
    const path = join(stateDir, name);
    writeFileSync(path, readFileSync(path, 'utf8').slice(0, -5));
  }
  assert.equal((await list([], { site, stateDir })).stream, first.stream);
  lists.documents.set('/i.xml', index(`${lists.url}/a.xml`));
  for (const name of readdirSync(stateDir)) utimesSync(join(stateDir, name), 1, 1);
  assert.deepEqual((await list([], { site, stateDir })).urls, [line(1, ' mtime="2026-01-01T00:00:00Z"')]);
  assert.equal(readdirSync(stateDir).length, 3);
});

test('one time for all that moves with each reading is the time of making: ignored, and said', async () => {
  const lists = await Lists.listen();
  const stateDir = freshDir();
  const made = (time: string, n = 30) => {
    lists.documents.set(
      '/s.xml',
      urlset(...Array.from({ length: n }, (_, i) => page(i, time)), page('own', '2026-05-05')),
    );
    return list([`${lists.url}/s.xml`], { stateDir });
  };
  const first = await made('2026-11-01');
  assert.match(first.urls[0] ?? '', / mtime="2026-11-01T00:00:00Z"/);
  for (const time of ['2026-11-02', '2026-11-02', '2026-11-03']) {
    const next = await made(time);
    assert.deepEqual(
      [next.urls[0], next.urls.at(-1)],
      [line(0), line('own', ' mtime="2026-05-05T00:00:00Z"')],
    );
    assert.match(next.said.join(), /nearly all urls have the time 2026-11-0\d.*it is ignored/);
  }
  // A list that tells them apart again is believed.
  lists.documents.set(
    '/s.xml',
    urlset(
      ...Array.from({ length: 30 }, (_, i) => page(i, `2026-10-${String((i % 28) + 1).padStart(2, '0')}`)),
    ),
  );
  assert.match((await list([`${lists.url}/s.xml`], { stateDir })).urls[0] ?? '', /mtime="2026-10-01/);
  assert.match((await made('2026-11-05')).urls[0] ?? '', /mtime="2026-11-05/);
});
