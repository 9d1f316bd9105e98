/** Sets that somebody pushed: what is looked at, what becomes of it, and that nothing of it is the owner's. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { FLAG_PUSH, FLAG_SLOW } from '../../../src/db/queue/row.js';
import { disagreement } from '../../../src/db/queue/sets-from-urls.js';
import type { FetchDone } from '../../../src/wire/fetch.js';
import { AS_SERVED, type UrlRecord } from '../../../src/wire/url.js';
import { absolute, Bench, failure, ok, setsOf, unchanged, url, type BenchOptions } from '../../qm/support.js';

let bench: Bench;
const begin = (options: BenchOptions = {}) => {
  bench = new Bench({ retries: 0, ...options });
  bench.provider(7);
};
beforeEach(() => begin());
afterEach(() => {
  assert.equal(disagreement(bench.db), undefined);
  const [{ waiting, rows } = { waiting: -1, rows: 0 }] = bench.all<{ waiting: number; rows: number }>(
    'SELECT nurlproc AS waiting, (SELECT count(*) FROM qdb) AS rows FROM pidb',
  );
  assert.equal(waiting, rows);
  bench.close();
});

const push = (curls: readonly string[], origin: 'push' | 'push-feed' = 'push') =>
  bench.send(
    7,
    curls.map(curl => url(curl, { mimetype: AS_SERVED, outofroot: 'drop' })),
    { origin },
  );
const short = (text: string) => text.replace('http://127.0.0.1/', '');
const queue = () =>
  bench
    .all<{ curl: string; mimetype: string; furl: string | null; gen: number }>(
      'SELECT curl, mimetype, furl, gen FROM qdb ORDER BY curl, mimetype',
    )
    .map(({ curl, mimetype, furl, gen }) => [short(curl), mimetype, furl === null ? null : short(furl), gen]);
const classes = () =>
  bench.all<{ class: number }>('SELECT class FROM qpsdb ORDER BY psetid').map(row => row.class);
const held = () =>
  bench
    .all<{ curl: string; mimetype: string }>('SELECT curl, mimetype FROM lccurl ORDER BY curl, mimetype')
    .map(({ curl, mimetype }) => `${short(curl)} ${mimetype}`);
const answer = (curl: string, result: FetchDone, mimetype = AS_SERVED, isConditional = false) => {
  const row = bench.row(7, curl, mimetype);
  assert.ok(row, `${curl} does not wait as ${mimetype}`);
  return bench.answer(row, result, isConditional);
};
/** What its owner has, as he said. */
async function owned(...records: UrlRecord[]): Promise<void> {
  await bench.send(7, records);
  for (const { curl, mimetype } of records)
    assert.equal(bench.fetch(7, curl, `${curl} ${mimetype}`, { mimetype }, mimetype), 'done');
}
const days = () =>
  bench
    .all('SELECT door, fetched, changed, same, gone, failed FROM pushday ORDER BY door')
    .map(row => Object.values(row));
const later = (seconds: number) => bench.clock.advance(seconds * 1000);

test('a page that is held is looked at as it is held, by its own fetch URL, also where there are several of it', async () => {
  await owned(
    url('a', { furl: 'http://127.0.0.1/cms?id=1' }),
    url('a', { mimetype: 'application/pdf', furl: 'http://127.0.0.1/cms?id=1&as=pdf' }),
    url('b', { mimetype: 'text/plain' }),
  );
  assert.deepEqual(await push(['a', 'b', 'new']), { queued: 3, duplicate: 0, unchanged: 0, deleted: 0 });
  assert.deepEqual(queue(), [
    ['a', 'application/pdf', 'cms?id=1&as=pdf', 1],
    ['a', 'text/html', 'cms?id=1', 1],
    ['b', 'text/plain', null, 1],
    ['new', AS_SERVED, null, 1],
  ]);
  assert.equal(setsOf(bench.store.queue).filter(set => set.class === 1).length, 2);
  assert.deepEqual(
    bench.sets.map(set => set.class).filter(one => one > 0),
    [1, 1],
  );
});

test('the owner who announces such a page as served means each of its rows as well', async () => {
  await owned(
    url('a', { furl: 'http://127.0.0.1/1', subtype: 'lang:en' }),
    url('a', { mimetype: 'application/pdf', furl: 'http://127.0.0.1/2' }),
    url('b', { furl: 'http://127.0.0.1/3' }),
    url('c'),
  );
  await bench.send(
    7,
    ['a', 'b', 'c'].map(curl => url(curl, { mimetype: AS_SERVED })),
  );
  assert.deepEqual(queue(), [
    ['a', 'application/pdf', '2', 1],
    ['a', 'text/html', '1', 1],
    ['b', 'text/html', '3', 1],
    ['c', AS_SERVED, null, 1],
  ]);
  answer('a', failure(404, 'real'), 'application/pdf');
  answer('a', ok('newer'), 'text/html');
  assert.deepEqual(held(), ['a text/html', 'b text/html', 'c text/html']);
  assert.equal(
    bench.value("SELECT subtype || givenfurl FROM lccurl WHERE curl LIKE '%/a'"),
    'lang:enhttp://127.0.0.1/1',
  );
  assert.deepEqual(
    bench.all('SELECT code FROM pierr').map(row => Object.values(row)),
    [[404]],
  );
  await bench.send(7, [url('a', { mimetype: AS_SERVED })], { set: 'full' });
  assert.deepEqual(held(), ['a text/html']);
});

test('each of several rows goes by itself with 404, and the others stay', async () => {
  await owned(
    url('a', { furl: 'http://127.0.0.1/1' }),
    url('a', { mimetype: 'application/pdf', furl: 'http://127.0.0.1/2' }),
  );
  await push(['a']);
  answer('a', unchanged, 'text/html', true);
  answer('a', failure(404, 'real'), 'application/pdf');
  assert.deepEqual(held(), ['a text/html']);
  assert.deepEqual(queue(), []);
});

test('a push of what waits or is on its way has it fetched as of now, and no answer from before counts', async () => {
  await owned(url('a'));
  await push(['a', 'new']);
  const sent = bench.row(7, 'a');
  assert.ok(sent);
  assert.deepEqual(await push(['a', 'new']), { queued: 0, duplicate: 2, unchanged: 0, deleted: 0 });
  assert.equal(bench.answer(sent, ok('older')), 'again');
  assert.equal(answer('a', ok('newer'), 'text/html'), 'done');
  assert.deepEqual(bench.all('SELECT md5 FROM lccurl').length, 1);
  await bench.send(7, [url('own')]);
  const own = bench.row(7, 'own');
  assert.ok(own);
  await push(['own']);
  assert.equal(
    bench.answer(own, ok('older')),
    'again',
    'its owner has announced it: one row, asked once more',
  );
});

test('what a crawl left waiting is taken over, and the word of the owner takes over a push', async () => {
  bench.db.exec('UPDATE pidb SET spider = 1');
  await bench.send(7, [url('l', { mimetype: AS_SERVED, ifabsent: 'yes', hops: '2' })], { origin: 'links' });
  await push(['l', 'p']);
  assert.deepEqual(
    bench.all('SELECT flags FROM qdb').map(row => Object.values(row)),
    [[34], [34]],
  );
  await bench.send(7, [url('p', { mimetype: AS_SERVED })]);
  assert.equal(bench.row(7, 'p', AS_SERVED)?.flags, 0);
});

test('404 and 410 remove at once, errors are kept for nobody, and an unknown url leaves nothing', async () => {
  await owned(url('a'), url('b'), url('c'), url('d'));
  await push(['a', 'b', 'c', 'x', 'y']);
  answer('a', failure(404, 'real'), 'text/html');
  answer('b', failure(410, 'real'), 'text/html');
  answer('c', failure(403, 'real'), 'text/html');
  answer('x', failure(404, 'real'));
  answer('y', failure(500, 'url'));
  assert.deepEqual(held(), ['c text/html', 'd text/html']);
  assert.deepEqual(bench.all('SELECT * FROM pierr'), []);
  assert.deepEqual(bench.all("SELECT curl FROM known WHERE curl LIKE '%x' OR curl LIKE '%y'"), []);
  assert.deepEqual(days(), [['indexnow', 5, 0, 0, 2, 1]]);
  assert.equal(bench.value('SELECT total(changed + same + failed + audited) FROM truth'), 0);
  assert.equal(bench.value('SELECT nurlerrs FROM pidb'), 0);
});

test('the fuse: of a site that answers 404 for six in ten pages most stay, and the rest is kept back', async () => {
  bench.close();
  begin({ fuse: { percent: 10, urls: 100 } });
  const pages = Array.from({ length: 50 }, (_, i) => `p${i}`);
  await owned(...pages.map(page => url(page)));
  const gone = pages.slice(0, 30);
  await push(gone);
  for (const page of gone) answer(page, failure(404, 'real'), 'text/html');
  assert.equal(held().length, 45, 'a tenth goes');
  assert.equal(bench.value('SELECT keptback FROM truth'), 25);
});

test('content that only a push has named is no page of its owner: full sets leave it, and a tenth of the quota is kept from it', async () => {
  bench.db.exec('UPDATE pidb SET filesmax = 10');
  await push(Array.from({ length: 12 }, (_, i) => `n${i}`));
  for (let i = 0; i < 12; i++)
    if (bench.row(7, `n${i}`, AS_SERVED)) answer(`n${i}`, ok(`n${i}`, { mimetype: 'text/html' }));
  assert.equal(held().length, 9);
  assert.deepEqual(
    bench.all('SELECT DISTINCT hops, served FROM lccurl').map(row => Object.values(row)),
    [[0, 1]],
  );
  await bench.send(7, [url('mine')], { set: 'full' });
  bench.fetch(7, 'mine');
  assert.equal(held().length, 10);
  assert.deepEqual(bench.all('SELECT * FROM pierr'), []);
});

test('a held row that its owner has deleted meanwhile is not brought back', async () => {
  await owned(url('a'));
  await push(['a']);
  await bench.send(7, [url('a', { op: 'delete' })]);
  const row = bench.row(7, 'a');
  if (row !== undefined) bench.answer(row, ok('again'));
  assert.deepEqual(held(), []);
});

test('what pushes were worth is counted by door, and not twice for one change; few true ones make that door slow', async () => {
  await owned(url('a'), url('b'), url('c'));
  later(7200);
  await push(['a']);
  answer('a', ok('changed'), 'text/html');
  await push(['a', 'b'], 'push-feed');
  answer('a', unchanged, 'text/html', true);
  answer('b', unchanged, 'text/html', true);
  assert.deepEqual(days(), [
    ['feed', 2, 0, 1, 0, 0],
    ['indexnow', 1, 1, 0, 0, 0],
  ]);
  const nowS = () => Math.floor(bench.clock.nowMs() / 1000);
  const none = { score: null, slow: false };
  const scores = () => bench.store.pushes.of(7, nowS()).scores;
  assert.deepEqual(scores(), { indexnow: none, feed: none });
  await push(Array.from({ length: 120 }, (_, i) => `false${i}`));
  for (let i = 0; i < 120; i++) answer(`false${i}`, failure(404, 'real'));
  assert.deepEqual(scores(), { indexnow: { score: 1, slow: true }, feed: none });
  const lastClass = () =>
    classes()
      .filter(one => one > 0)
      .at(-1);
  await push(['a', 'c']);
  assert.equal(lastClass(), 5);
  await push(['b'], 'push-feed');
  assert.equal(lastClass(), 1, 'whoever lies by IndexNow slows no feed');
  // What waits for its slow turn is looked at in that of others who name it.
  const flagsOf = (curl: string) =>
    bench.value(`SELECT flags FROM qdb WHERE curl = '${absolute(curl)}'`) as number;
  assert.equal(flagsOf('a') & FLAG_SLOW, FLAG_SLOW);
  await push(['a'], 'push-feed');
  assert.equal(flagsOf('a') & FLAG_SLOW, 0);
  assert.equal(lastClass(), 1);
  await bench.send(7, [url('c', { mimetype: 'text/html' })], { origin: 'scan' });
  assert.equal(flagsOf('c') & FLAG_PUSH, 0);
  later(86_400);
  await push(Array.from({ length: 120 }, (_, i) => `true${i}`));
  for (let i = 0; i < 120; i++) answer(`true${i}`, ok(`true${i}`, { mimetype: 'text/html' }));
  assert.equal(scores().indexnow.slow, false, 'the last days that have a hundred count');
});

test('a push that is wanted only if absent leaves a page that is held alone, in whatever type, and has another one fetched', async () => {
  await owned(url('a'), url('b', { mimetype: 'application/pdf' }));
  const names = ['a', 'b', 'c'];
  await bench.send(
    7,
    names.map(curl => url(curl, { mimetype: AS_SERVED, outofroot: 'drop', ifabsent: 'yes' })),
    { origin: 'push-feed' },
  );
  assert.deepEqual(queue(), [['c', AS_SERVED, null, 1]]);
});

test('a set that goes on after a cut keeps its class, whatever its provider is worth by then', async () => {
  bench.close();
  begin({ sliceUrls: 1 });
  const urls = ['a', 'b', 'c'].map(curl => url(curl, { mimetype: AS_SERVED }));
  const head = { ...bench.head(7, 3), origin: 'push' as const };
  const cut = await bench.intake.begin('u1', head);
  cut.urls(urls.slice(0, 2));
  cut.cut();
  bench.db.exec(
    `INSERT INTO pushday(pid, day, door, fetched, failed) VALUES (7, ${Math.floor(bench.clock.nowMs() / 86_400_000)}, 'indexnow', 200, 200)`,
  );
  const again = await bench.intake.begin('u1', head);
  again.urls(urls);
  await again.end();
  assert.deepEqual(classes(), [1]);
  assert.deepEqual(
    queue().map(([curl]) => curl),
    ['a', 'b', 'c'],
  );
  assert.equal(absolute('a'), 'http://127.0.0.1/a');
});
