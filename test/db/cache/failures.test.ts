/** The last failure of a url is remembered until it comes, is deleted, or too many others have failed since. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { readProviderAlone } from '../../../src/db/queue/shape.js';
import { UrlLives } from '../../../src/db/queue/url-life.js';
import { UrlStandings } from '../../../src/db/queue/url-standings.js';
import { FAILURES_KEPT } from '../../../src/db/cache/failures.js';
import { removeProvider } from '../../../src/db/providers/removal.js';
import { absolute, Bench, failure, ok, url } from '../../qm/support.js';

let bench: Bench;
const begin = (more: ConstructorParameters<typeof Bench>[0] = {}) => {
  bench = new Bench({ retries: 1, ...more });
  bench.provider(1);
};
beforeEach(() => begin());
afterEach(() => bench.close());

const remembered = () =>
  bench
    .all<{ curl: string }>('SELECT curl FROM failure ORDER BY id')
    .map(({ curl }) => curl.split('/').at(-1));

async function fail(...names: string[]): Promise<void> {
  await bench.send(
    1,
    names.map(name => url(name)),
  );
  for (const name of names) bench.missing(1, name);
}

const deliver = () =>
  bench.store.transaction(() =>
    bench.store.errors.delivered(1, Number(bench.value('SELECT max(errseq) FROM pierr'))),
  );

function life(name: string) {
  const at = { nowMs: bench.clock.nowMs(), slots: 24 as const };
  return new UrlLives(bench.db).all(0, absolute(name), at, () => 'a state');
}

test('a failure outlives its delivery, and ends with a success', async () => {
  await fail('a', 'b');
  deliver();
  assert.deepEqual(remembered(), ['a', 'b']);
  assert.deepEqual(new UrlStandings(bench.db, 4).of(1, absolute('a')), [
    { mimetype: 'text/html', code: 404, text: 'error 404', state: 'error' },
  ]);
  await bench.send(1, [url('a')]);
  assert.deepEqual(remembered(), ['a', 'b'], 'while it waits');
  bench.fetch(1, 'a');
  assert.deepEqual(remembered(), ['b']);
});

test('a success that confirms what is held ends it, too', async () => {
  await bench.send(1, [url('a')]);
  bench.fetch(1, 'a', 'x');
  await bench.send(1, [url('a', { md5: 'f'.repeat(32) })]);
  const row = bench.row(1, 'a');
  assert.ok(row);
  assert.equal(bench.answer(row, failure(500, 'url')), 'bad');
  assert.deepEqual(remembered(), ['a'], 'tries that are left are remembered as well');
  bench.answer(bench.row(1, 'a') ?? row, ok('x'));
  assert.deepEqual(remembered(), []);
});

test('a failure ends with a delete, and with a full set that does not name its url', async () => {
  await fail('a', 'b', 'c', 'd');
  deliver();
  await bench.send(1, [url('a', { op: 'delete' })]);
  assert.deepEqual(remembered(), ['b', 'c', 'd']);
  await bench.send(1, [url('b'), url('e')], { set: 'full' });
  assert.deepEqual(remembered(), ['b'], 'named, it waits again');
  bench.missing(1, 'b');
  bench.missing(1, 'e');
  assert.deepEqual(remembered(), ['b', 'e']);
  await bench.send(1, [url('b')], { set: 'full' });
  assert.deepEqual(remembered(), ['b']);
});

test('a url that a full set names and that is refused at once is remembered', async () => {
  bench.close();
  begin();
  bench.db.exec('UPDATE pidb SET filesmax = 1');
  await bench.send(1, [url('a'), url('b')], { set: 'full' });
  assert.deepEqual(remembered(), ['b']);
  assert.equal(life('b')[0]?.rows[0]?.failure?.code, 202);
});

test('a withheld delete ends it when it is carried out', async () => {
  bench.close();
  begin({ fuse: { percent: 0, urls: 1 } });
  await bench.send(
    1,
    ['h1', 'h2', 'h3'].map(name => url(name)),
  );
  for (const name of ['h1', 'h2', 'h3']) bench.fetch(1, name);
  await fail('a');
  await bench.send(
    1,
    ['a', 'h1', 'h2', 'h3'].map(name => url(name, { op: 'delete' })),
  );
  assert.deepEqual(remembered(), [], 'nothing is held of it: nothing is withheld');
  const { store } = bench;
  store.transaction(() => {
    for (const name of ['h1', 'h2']) {
      const gone = store.content.find(1, absolute(name), 'text/html');
      if (gone !== undefined) store.content.remove(1, gone, 0);
    }
    store.errors.add(1, url(absolute('h1')), 404, 'x', 1);
    store.errors.add(1, url(absolute('h2')), 404, 'x', 1000);
    store.held.release(1);
  });
  const set = store.held.decided();
  assert.ok(set);
  store.transaction(() => [
    ...store.held.carryOut(
      set,
      () => 100,
      () => 0,
    ),
  ]);
  assert.deepEqual(remembered(), ['h2'], 'a later set has named it again');
});

test('the oldest of a provider go, of that one alone', async () => {
  bench.close();
  begin({ failuresKept: 3 });
  bench.provider(2);
  await bench.send(2, [url('z')]);
  bench.missing(2, 'z');
  await fail('a', 'b', 'c', 'd');
  await fail('b', 'e');
  assert.deepEqual(remembered(), ['z', 'd', 'b', 'e']);
  assert.ok(FAILURES_KEPT >= 1000);
});

test('a page of which nothing but its failure is known keeps no provider from being removed', async () => {
  await fail('a');
  removeProvider(bench.db, 1);
  assert.deepEqual(remembered(), []);
});

test('a page that is held is told by its door, as far as it is known', async () => {
  await bench.send(1, [url('mine')]);
  await bench.send(1, [url('pushed', { mimetype: '*/*', outofroot: 'drop' })], { origin: 'push' });
  await bench.send(1, [url('found', { ifabsent: 'yes', hops: '2' })], { origin: 'links' });
  const doors = () => ['mine', 'pushed', 'found'].map(name => life(name)[0]?.rows[0]?.announced?.door);
  assert.deepEqual(doors(), ['owner', 'push', 'links']);
  for (const name of ['mine', 'found']) bench.fetch(1, name, name);
  bench.fetch(1, 'pushed', 'a text', { mimetype: 'text/html' }, '*/*');
  assert.deepEqual(doors(), ['owner', 'entry', 'links']);
});

test('the whole life: announced, queued, failed, held, gone', async () => {
  await bench.send(1, [url('a')], { atS: 1000 });
  const [waits] = life('a');
  assert.deepEqual([waits?.pid, waits?.root, waits?.state], [1, 'http://127.0.0.1/', 'a state']);
  assert.deepEqual(waits?.rows[0]?.announced, { psetid: 1, at: 1000, door: 'owner', uns: 'u1', full: false });
  assert.equal(waits?.rows[0]?.waiting?.tries, 0);
  const row = bench.row(1, 'a');
  assert.ok(row);
  bench.answer(row, failure(500, 'url'));
  const [tried] = life('a');
  assert.equal(tried?.rows[0]?.waiting?.tries, 1);
  assert.deepEqual(
    { ...tried?.rows[0]?.failure, at: 0 },
    { code: 500, text: 'error 500', at: 0, received: false },
  );
  bench.fetch(1, 'a', 'abc');
  const [held] = life('a');
  assert.deepEqual(
    held?.rows.map(({ held: content, failure: none }) => [content?.seq, content?.bytes, none]),
    [[1, 3, null]],
  );
  await fail('a');
  const [failed] = life('a');
  assert.deepEqual([failed?.rows[0]?.failure?.received, failed?.rows[0]?.gone?.seq], [false, 2]);
  deliver();
  assert.equal(life('a')[0]?.rows[0]?.failure?.received, true);
  assert.deepEqual(life('never')[0]?.rows, []);
  assert.deepEqual(
    new UrlLives(bench.db).all(0, 'http://other.example.org/', { nowMs: 0, slots: 24 }, () => ''),
    [],
  );
  for (const odd of [
    'no url',
    'javascript:alert(1)',
    'http://',
    'http://127.0.0.1/%00',
    '\u0000',
    'x'.repeat(9000),
  ])
    assert.deepEqual(
      new UrlLives(bench.db).all(1, odd, { nowMs: 0, slots: 24 }, () => ''),
      [{ pid: 1, root: null, rows: [], state: '' }],
      odd.slice(0, 40),
    );
  assert.equal(life('a#part')[0]?.rows.length, 1, 'as it is known, however it was typed');
  assert.equal(readProviderAlone(bench.db, 1)?.waiting, 0);
});
