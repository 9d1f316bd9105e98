/** One provider's sets by several UNSes: nothing that is newer is undone, and what is not applied is asked for. */
import fc from 'fast-check';
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { SetCounts } from '../../src/db/queue/absorbed.js';
import { isRefusal, type SetRefusal } from '../../src/qm/set-absorption.js';
import type { SetHead } from '../../src/wire/uns-qm.js';
import type { UrlRecord } from '../../src/wire/url.js';
import { amount } from '../support/long.js';
import { Bench, url } from './support.js';

let bench: Bench;
beforeEach(() => {
  bench = new Bench();
  bench.provider(7);
});
afterEach(() => bench.close());

const NOTHING: SetCounts = { queued: 0, duplicate: 0, unchanged: 0, deleted: 0 };
const gone = (curl: string) => url(curl, { op: 'delete' });

async function take(uns: string, head: SetHead, urls: readonly UrlRecord[]): Promise<SetCounts | SetRefusal> {
  const intake = await bench.intake.begin(uns, head);
  intake.urls(urls);
  return intake.end();
}
/** Takes a set of one UNS, about which is known what `more` says. */
function send(uns: string, urls: readonly UrlRecord[], more: Partial<SetHead> = {}) {
  return take(uns, bench.head(7, urls.length, { numbering: '', ...more }), urls);
}
const value = (sql: string) => bench.db.prepare(sql).pluck().get();
const wanted = () => value('SELECT fullsetwanted FROM pidb WHERE pid = 7');
const latest = () => Number(value('SELECT latestpsetid FROM pidb WHERE pid = 7'));
const queued = () =>
  bench.db.prepare<[], string>('SELECT curl FROM qdb WHERE op = 1 ORDER BY pos').pluck().all();
const SHARED = { numbering: 'n' };

describe('a set that comes by another UNS than the last one', () => {
  it('is applied when its UNS had seen that one in the queue', async () => {
    await send('a', [url('x')]);
    await send('b', [url('y')], { after: latest() });
    await send('a', [gone('y')], { after: latest() });
    assert.deepEqual([queued().map(name => name.at(-1)), wanted()], [['x'], null]);
  });

  it('is applied when a later connection was known at its acceptance, by UNSes that number together', async () => {
    await send('a', [url('x')], { ...SHARED, newest: 4 });
    await send('b', [gone('x')], { ...SHARED, newest: 5 });
    await send('a', [url('y')], { ...SHARED, newest: 6 });
    assert.deepEqual([queued().map(name => name.at(-1)), wanted()], [['y'], null]);
  });

  for (const [how, more] of Object.entries({
    'that was accepted earlier': { ...SHARED, newest: 4 },
    'between whose acceptance and its own nobody connected': { ...SHARED, newest: 5 },
    'whose UNS numbers connections by itself': { numbering: 'other', newest: 6 },
    'of which nothing is known': { newest: 6 },
  }))
    it(`is not applied, and a full set is wanted: one ${how}`, async () => {
      await send('b', [gone('x'), url('y')], { ...SHARED, newest: 5 });
      assert.deepEqual(await send('a', [url('x'), gone('y')], more), NOTHING);
      assert.deepEqual([queued().map(name => name.at(-1)), wanted()], [['y'], 'order']);
    });

  it('tells of its session all the same, and is not the provider’s last', async () => {
    await send('b', [url('y')], { ...SHARED, newest: 5, seq: 5 });
    const before = latest();
    await send('a', [url('x')], { ...SHARED, newest: 5, seq: 8, ip: '192.0.2.8' });
    assert.equal(value('SELECT lastconnip FROM pidb WHERE pid = 7'), '192.0.2.8');
    assert.equal(latest(), before);
    assert.ok(!isRefusal(await send('b', [url('z')])), 'the last one came by b');
    assert.deepEqual(queued().length, 2);
  });

  it('is answered alike when it comes again, and wants nothing more when the wish was fulfilled', async () => {
    await send('b', [url('y')]);
    const head = bench.head(7, 1, { numbering: '' });
    assert.deepEqual(await take('a', head, [url('x')]), NOTHING);
    await send('b', [url('x'), url('y')], { set: 'full' });
    assert.equal(wanted(), null);
    bench.reopen();
    assert.deepEqual(await take('a', head, [url('x')]), NOTHING);
    assert.deepEqual([queued().length, wanted()], [2, null]);
  });

  it('goes on nowhere when it was cut off before the newer one: what came of it stays before that', async () => {
    bench.close();
    bench = new Bench({ sliceUrls: 2 });
    bench.provider(7);
    const urls = ['p', 'x', 'q', 'y'].map(name => url(name));
    const head = bench.head(7, urls.length, { ...SHARED, newest: 4 });
    const cut = await bench.intake.begin('a', head);
    cut.urls(urls.slice(0, 2));
    cut.cut();
    await send('b', [gone('x'), gone('y')], { ...SHARED, newest: 5 });
    bench.reopen();
    await take('a', head, urls);
    assert.deepEqual([queued().map(name => name.at(-1)), wanted()], [['p'], 'order']);
    assert.equal(value('SELECT count(*) FROM absorbed WHERE complete = 0'), 0);
    assert.ok(
      bench.sets.some(({ pid }) => pid === 7),
      'what stays is fetched',
    );
  });

  it('fulfils no wish with a full set that is not applied', async () => {
    await send('b', [url('y')]);
    bench.db.exec("UPDATE pidb SET fullsetwanted = 'operator'");
    await send('a', [url('x')], { set: 'full' });
    assert.deepEqual([queued().map(name => name.at(-1)), wanted()], [['y'], 'operator']);
  });
});

const isSame = (some: string[], others: string[]) =>
  some.length === others.length && some.every(one => others.includes(one));

/** What two UNSes accept, each in its order: connections of both get numbers from one counter. */
const HISTORY = fc.array(
  fc.record({
    uns: fc.constantFrom('a', 'b'),
    key: fc.constantFrom('x', 'y', 'z'),
    op: fc.constantFrom('update', 'delete'),
    /** Whether another connection begins before the next set is accepted. */
    connects: fc.boolean(),
  }),
  { minLength: 2, maxLength: 12 },
);

it('in whatever order two UNSes hand over, every url is as its last accepted set said, or a full set is wanted', async () => {
  await fc.assert(
    fc.asyncProperty(HISTORY, fc.infiniteStream(fc.boolean()), async (accepted, turns) => {
      const bench = new Bench();
      bench.provider(7);
      let connections = 1;
      const spools: Record<string, { head: SetHead; urls: UrlRecord[] }[]> = { a: [], b: [] };
      for (const { uns, key, op, connects } of accepted) {
        connections += Number(connects);
        const head = bench.head(7, 1, { numbering: 'n', newest: connections });
        spools[uns]?.push({ head, urls: [op === 'delete' ? gone(key) : url(key)] });
      }
      for (;;) {
        const [first = [], second = []] = turns.next().value
          ? [spools['a'], spools['b']]
          : [spools['b'], spools['a']];
        const from = first.length > 0 ? first : second;
        const next = from.shift();
        if (next === undefined) break;
        const intake = await bench.intake.begin(from === spools['a'] ? 'a' : 'b', next.head);
        intake.urls(next.urls);
        await intake.end();
      }
      const last = new Map(accepted.map(({ key, op }) => [key, op]));
      const expected = [...last].filter(([, op]) => op === 'update').map(([key]) => key);
      const rows = bench.db
        .prepare<[], string>('SELECT curl FROM qdb WHERE op = 1')
        .pluck()
        .all()
        .map(name => name.slice(-1));
      const isWanted = bench.db.prepare('SELECT fullsetwanted FROM pidb').pluck().get() === 'order';
      bench.close();
      assert.ok(isWanted || isSame(rows, expected), rows.join());
    }),
    { numRuns: amount(60, 200) },
  );
});
