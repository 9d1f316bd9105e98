import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import type { Held } from '../../src/db/cache/content.js';
import type { WaitingRow } from '../../src/db/queue/row.js';
import { requestOf, validatorsOf } from '../../src/qm/request.js';
import { AS_SERVED } from '../../src/wire/url.js';
import { Bench, md5Of, url } from './support.js';

let bench: Bench;
beforeEach(() => {
  bench = new Bench();
  bench.provider(7);
});
afterEach(() => bench.close());

/** What a request says to a robot about content held when the url is asked for again, with what the CP says now. */
async function told(more: { completeness?: 'unverified' }, says: Parameters<typeof url>[1]) {
  await bench.send(7, [url('a')]);
  bench.fetch(7, 'a', 'x', { etag: '"1"', lastModified: 'Fri, 20 Nov 2026 10:13:01 GMT', ...more });
  await bench.send(7, [url('a', says)]);
  const row = bench.row(7, 'a') as unknown as WaitingRow;
  const held: Held | undefined = bench.store.content.find(7, row.curl, row.mimetype);
  assert.ok(held);
  return validatorsOf(row, held, false);
}
const BOTH = { etag: '"1"', lastModified: 'Fri, 20 Nov 2026 10:13:01 GMT' };

test('where the CP says nothing the robot asks conditionally', async () => {
  assert.deepEqual(await told({}, {}), BOTH);
});

test('what the CP says otherwise is fetched whatever the server thinks of it', async () => {
  for (const says of [{ md5: md5Of('y') }, { len: '2' }, { mtime: '2026-11-21T00:00:00Z' }])
    assert.deepEqual(await told({}, says), {});
});

test('content that could not be confirmed whole is no base: it would be confirmed for ever', async () => {
  assert.deepEqual(await told({ completeness: 'unverified' }, {}), {});
});

test('what is wanted as served is asked for with the types that are taken, and with no type of its own', async () => {
  await bench.send(7, [url('a', { mimetype: AS_SERVED }), url('b')]);
  const requestFor = (curl: string, mimetype: string) => {
    const row = bench.row(7, curl, mimetype) as unknown as WaitingRow;
    const { accept, mimetype: wanted } = requestOf(
      row,
      { id: 1, lane: '7', terms: { roots: [], accept: ['text/*', 'application/pdf'] } },
      {},
    );
    return { accept, wanted };
  };
  assert.deepEqual(requestFor('a', AS_SERVED), { accept: ['text/*', 'application/pdf'], wanted: undefined });
  assert.deepEqual(requestFor('b', 'text/html'), { accept: undefined, wanted: 'text/html' });
});

test('what contradicts its announcement replaces nothing until the last try, which takes it', async () => {
  await bench.send(7, [url('said', { len: '9' }), url('digest', { md5: md5Of('y') }), url('nothing')]);
  const takes = (curl: string, isLastTry?: boolean) => {
    const sending = { id: 1, lane: '7', terms: { roots: [], accept: [] }, isLastTry: isLastTry ?? false };
    return requestOf(bench.row(7, curl) as unknown as WaitingRow, sending, {}).takesContradicted;
  };
  assert.deepEqual([takes('said'), takes('said', true), takes('digest', true)], [undefined, true, true]);
  assert.equal(takes('nothing', true), undefined);
});
