/** Pages of a crawl that ask not to be kept: lcclinks says so with a delete in a set of links. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { AS_SERVED } from '../../../src/wire/url.js';
import { Bench, md5Of, url } from '../../qm/support.js';

const LINKS = { origin: 'links' } as const;
let bench: Bench;
beforeEach(() => {
  bench = new Bench({ retries: 2, errorsKept: 3 });
  bench.provider(7);
});
afterEach(() => bench.close());

const link = (curl: string) =>
  url(curl, { mimetype: AS_SERVED, hops: '1', ifabsent: 'yes', outofroot: 'drop' });
const unwanted = (curl: string, content: string) =>
  url(curl, { mimetype: 'text/html', md5: md5Of(content), op: 'delete' });
const held = () => bench.all('SELECT curl FROM lccurl').length;
const known = () => bench.all('SELECT curl, code, until - asked AS seconds FROM known');

async function crawled(curl: string, content: string): Promise<void> {
  await bench.send(7, [link(curl)], LINKS);
  assert.equal(bench.fetch(7, curl, content, { mimetype: 'text/html' }, AS_SERVED), 'done');
}

test('what is held of it goes, and is not asked for again for 30 days', async () => {
  await crawled('a', 'page');
  await bench.send(7, [unwanted('a', 'page')], LINKS);
  assert.equal(held(), 0);
  assert.deepEqual(known(), [{ curl: 'http://127.0.0.1/a', code: 618, seconds: 30 * 86_400 }]);
  await bench.send(7, [link('a')], LINKS);
  assert.equal(bench.row(7, 'a', AS_SERVED), undefined);
  // Said again, for the cursor did not move: it changes nothing.
  await bench.send(7, [unwanted('a', 'page')], LINKS);
  assert.deepEqual(bench.all('SELECT filesused, spaceused, nurlproc FROM pidb'), [
    { filesused: 0, spaceused: 0, nurlproc: 0 },
  ]);
});

test('what is another content by now, waits, or was announced by its owner stays', async () => {
  await crawled('new', 'page');
  await crawled('waits', 'page');
  await crawled('owners', 'page');
  await bench.send(7, [url('owners', { mimetype: AS_SERVED })]);
  bench.fetch(7, 'owners', 'page', { mimetype: 'text/html' }, AS_SERVED);
  await bench.send(7, [url('waits', { mimetype: AS_SERVED })]);
  await bench.send(
    7,
    [unwanted('new', 'another'), unwanted('waits', 'page'), unwanted('owners', 'page')],
    LINKS,
  );
  assert.deepEqual([held(), known()], [3, []]);
});

test('a scan or an audit removes nothing so', async () => {
  await crawled('a', 'page');
  for (const origin of ['scan', 'audit'] as const) await bench.send(7, [unwanted('a', 'page')], { origin });
  assert.equal(held(), 1);
});
