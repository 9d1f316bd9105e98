/** What GET /changes refuses, in the process of the test. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ManualClock } from '../../support/manual-clock.js';
import { cachesOfFile, curls, EVENTS, feedsOf, read, reading } from './support.js';

const newCache = cachesOfFile();
const refusalOf = (text: string) => JSON.parse(text) as { code: number; what: string; do: string };

describe('the change feed refuses', () => {
  it('what cannot be continued from: foreign, ahead, older than the deletions', async t => {
    const cache = newCache('a', 'b');
    cache.remove('http://h/a');
    cache.forgetDeletions();
    const { port } = await feedsOf(t, cache);
    const store = cache.storeId;
    for (const [cursor, why] of [
      ['00000000-0000-0000-0000-000000000000:1', /another store/],
      [`${store}:99`, /ahead of the store/],
      [`${store}:2`, /older than the deletions/],
    ] as const)
      for (const headers of [{}, EVENTS, { ...EVENTS, 'last-event-id': cursor }]) {
        const query = 'last-event-id' in headers ? '' : `?cursor=${cursor}`;
        const { status, text } = await read(port, query, headers);
        assert.equal(status, 410, text);
        const refusal = refusalOf(text);
        assert.equal(refusal.code, 108);
        assert.match(refusal.what, why);
        assert.doesNotMatch(refusal.what, /resync|remove it|^cursor: /, 'what to do stands once');
        assert.equal(refusal.do, 'full resync: ask without cursor, then drop what was not told');
      }
  });

  it('other paths, methods and parameters, in words', async t => {
    const cache = newCache('a');
    const { port } = await feedsOf(t, cache, { 'cu.url': 'https://lcc.example.org/feed/' });
    for (const [path, method, status] of [
      ['/', 'GET', 404],
      ['/changes/', 'GET', 404],
      ['/feed/change', 'GET', 404],
      ['/changes', 'POST', 405],
      ['/changes', 'OPTIONS', 405],
      ['/changes?since=1', 'GET', 400],
    ] as const) {
      const answer = await read(port, path, {}, method);
      assert.equal(answer.status, status, path);
      const { code, what, do: advice } = refusalOf(answer.text);
      assert.ok(code === 104 && what !== '' && advice !== '');
      if (status !== 405) continue;
      assert.equal(answer.response.headers['allow'], 'GET, HEAD');
      assert.deepEqual([what, advice], ['changes are only read', 'ask with GET or HEAD']);
    }
    for (const path of ['/changes', '/feed/changes', '/feed/changes?pid=1'])
      assert.deepEqual(curls((await read(port, path)).text), ['a']);
  });

  it('to a HEAD the body alone: its status and headers are those of GET', async t => {
    const cache = newCache('a');
    const { port } = await feedsOf(t, cache);
    for (const [query, headers] of [
      ['', {}],
      ['', EVENTS],
      ['?wait=60&cursor=now', {}],
      ['?cursor=x', {}],
      ['?cursor=00000000-0000-0000-0000-000000000000:1', EVENTS],
    ] as const) {
      const head = await read(port, query, headers, 'HEAD');
      assert.equal(head.text, '');
      if (query.includes('wait')) continue;
      const get = await reading(port, query, headers);
      assert.deepEqual(
        [head.status, head.response.headers['content-type']],
        [get.status, get.response.headers['content-type']],
      );
      get.leave();
    }
  });

  it('who is not a reader, with and without a word, in the same way; and lets readers in by both schemes', async t => {
    const cache = newCache('a');
    const { port, readers } = await feedsOf(t, cache, { 'cu.anonymous': 'false' });
    const password = readers.add('search');
    const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });
    for (const headers of [
      {},
      basic('search:wrong'),
      basic('nobody:x'),
      basic('search'),
      { authorization: 'Bearer search' },
      { authorization: 'Digest x' },
    ]) {
      const { status, text, response } = await read(port, '', headers);
      assert.equal(status, 401);
      assert.equal(refusalOf(text).code, 101);
      assert.match(String(response.headers['www-authenticate']), /^Basic realm=/);
    }
    for (const headers of [
      basic(`search:${password}`),
      { authorization: `Bearer search:${password}` },
      { authorization: `bearer search:${password}` },
    ])
      assert.equal((await read(port, '', headers)).status, 200);
    readers.remove('search');
    assert.equal(
      (await read(port, '', basic(`search:${password}`))).status,
      401,
      'removed: at its next request',
    );
  });

  it('guessing: attempts wait in a line, and a long one is told when to come again', async t => {
    const cache = newCache();
    const settings = { 'cu.anonymous': 'false', 'cu.max_streams_per_address': '100' };
    const { port, readers } = await feedsOf(t, cache, settings, new ManualClock());
    readers.add('search');
    const wrong = { authorization: 'Bearer search:wrong' };
    for (let n = 0; n < 3; n++) assert.equal((await read(port, '', wrong)).status, 401);
    assert.equal((await read(port, '', wrong)).status, 401);
    // Each takes its turn after the one before; the clock stands still.
    const waiting = Array.from({ length: 60 }, () => reading(port, '', wrong));
    const first = await Promise.any(waiting);
    assert.equal(first.status, 429);
    assert.ok(Number(first.response.headers['retry-after']) > 5);
    for (const each of waiting)
      void each.then(
        reader => reader.leave(),
        () => undefined,
      );
  });

  it('pages of other origins, but for those that are named', async t => {
    const cache = newCache('a');
    const origin = 'https://app.example.org';
    const { port } = await feedsOf(t, cache, { 'cu.http_origins': [origin] });
    const named = await read(port, '', { origin });
    assert.equal(named.response.headers['access-control-allow-origin'], origin);
    assert.match(String(named.response.headers.vary), /origin/);
    const other = await read(port, '', { origin: 'https://evil.example.org' });
    assert.equal(other.response.headers['access-control-allow-origin'], undefined);
    const asked = await read(port, '', { origin, 'access-control-request-method': 'GET' }, 'OPTIONS');
    assert.deepEqual(
      [asked.status, asked.response.headers['access-control-allow-headers']],
      [204, 'authorization, last-event-id'],
    );
  });

  it('those that have no place, which says its setting and when to come again', async t => {
    const cache = newCache();
    const { port } = await feedsOf(t, cache, { 'cu.max_streams_per_address': '2' });
    const inside = [await reading(port, '', EVENTS), await reading(port, '', EVENTS)];
    const { status, text, response } = await read(port, '');
    assert.equal(status, 503);
    assert.match(refusalOf(text).what, /cu\.max_streams_per_address/);
    assert.ok(Number(response.headers['retry-after']) > 0);
    for (const reader of inside) reader.leave();
  });
});
