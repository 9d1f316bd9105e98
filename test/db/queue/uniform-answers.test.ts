/** Crawled sites that answer the same to everything: their pages are held back as those of a site that has lost them. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import type { FetchDone } from '../../../src/wire/fetch.js';
import { AS_SERVED, type UrlRecord } from '../../../src/wire/url.js';
import type { SetOrigin } from '../../../src/wire/origin.js';
import { absolute, Bench, md5Of, ok, url } from '../../qm/support.js';

let bench: Bench;
beforeEach(() => {
  bench = new Bench({ retries: 1, fuse: { percent: 50, urls: 1000 } });
  bench.provider(7, { spider: 1 });
});
afterEach(() => bench.close());

const link = (curl: string, more: Partial<UrlRecord> = {}) =>
  url(curl, { mimetype: AS_SERVED, ifabsent: 'yes', hops: '3', ...more });
const unasked = (urls: readonly UrlRecord[], origin: SetOrigin = 'links') => bench.send(7, urls, { origin });
const arrives = (curl: string, content: string) =>
  assert.equal(bench.fetch(7, curl, content, html, AS_SERVED), 'done');
const heldPages = () => Number(bench.value('SELECT count(*) FROM lccurl'));

/** What a scan of each page is answered. */
async function lookedAt(paths: readonly string[], answer: (path: string) => FetchDone): Promise<void> {
  bench.clock.advance(86_400_000);
  const waiting = paths.filter(path => bench.store.content.findAny(7, absolute(path)) !== undefined);
  await unasked(
    waiting.map(path => ({ ...link(path), ifabsent: 'no' })),
    'scan',
  );
  for (const path of waiting) {
    const row = bench.row(7, path, AS_SERVED);
    assert.ok(row, `${path} waits`);
    const result = answer(path);
    const mayFollow = result.status === 'redirect' && result.location.startsWith(absolute(''));
    // Where it leads has taken the place of the page.
    if (bench.answer({ ...row, mayFollow }, result) === 'again' && result.status === 'redirect') {
      const target = bench.row(7, result.location.slice(absolute('').length), AS_SERVED);
      assert.ok(target);
      bench.answer(target, ok('the form', html));
    }
  }
}
const html = { mimetype: 'text/html' };
const cost = { id: 1, wireBytes: 1, elapsedMs: 1 };
const redirect = (http: number, location: string) => ({
  ...cost,
  status: 'redirect' as const,
  http,
  location,
});
const crawled = async (count: number) => {
  const paths = Array.from({ length: count }, (_, i) => `p${i}`);
  await unasked(paths.map(path => link(path)));
  for (const path of paths) arrives(path, `page ${path}`);
  return paths;
};
const intact = (paths: readonly string[]) =>
  paths.filter(path => bench.store.content.findAny(7, absolute(path))?.md5 === md5Of(`page ${path}`)).length;

const UNIFORM: Record<string, (path: string) => FetchDone> = {
  'moved for good to a login': () => redirect(301, absolute('login')),
  'moved for good to a login that is told the page': path => redirect(308, absolute(`login?next=${path}`)),
  'moved for good to another site': () => redirect(301, 'https://parked.example/'),
  'a redirect to a login': () => redirect(302, absolute('login')),
  'one page for all': () => ok('under repair', html),
};
for (const [name, answer] of Object.entries(UNIFORM))
  test(`a crawled site whose answer to everything is ${name} keeps nine tenths of its pages`, async () => {
    const paths = await crawled(50);
    await lookedAt(paths, answer);
    const left = intact(paths);
    // A tenth of what is held, forms as well; the first change cannot be told from that of a page.
    assert.ok(left >= paths.length - 1 - Math.ceil(heldPages() / 9), `${left} of 50`);
    await lookedAt(paths, answer);
    const next = intact(paths);
    assert.ok(next >= left - 1, 'nor do more go the day after');
    const gone = paths.filter(path => bench.store.content.findAny(7, absolute(path)) === undefined);
    assert.equal(
      bench.value('SELECT count(*) FROM known WHERE until - asked < 86400'),
      gone.length,
      'what went is asked for again within the day',
    );
    await lookedAt(paths, path => ok(`page ${path}`, html));
    assert.equal(intact(paths), paths.length - gone.length, 'what stayed heals');
  });

test('a page that has moved goes, wherever it leads, when an exact copy is held there', async () => {
  const paths = await crawled(20);
  await unasked(paths.map(path => link(`new/${path}`)));
  for (const path of paths) arrives(`new/${path}`, `page ${path}`);
  await lookedAt(paths, path => redirect(301, absolute(`new/${path}`)));
  assert.deepEqual([intact(paths), intact(paths.map(path => `new/${path}`)), heldPages()], [0, 0, 20]);
});

test('copies of one page that change together are no uniform answer', async () => {
  const paths = Array.from({ length: 20 }, (_, i) => `copy${i}`);
  await unasked(paths.map(path => link(path)));
  for (const path of paths) arrives(path, 'all alike');
  for (const content of ['one', 'two']) {
    await lookedAt(paths, () => ok(content, html));
    assert.deepEqual(bench.all('SELECT DISTINCT md5 FROM lccurl'), [{ md5: md5Of(content) }]);
  }
});
