import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { fileIdOf } from '../../src/db/names/naming.js';
import type { FetchRequest, FetchResult } from '../../src/wire/fetch.js';
import { Bm, Qm, Uns } from '../support/queue-manager.js';
import { ok, url } from './support.js';

const roomless = ({ id }: FetchRequest, reach: 'url' | 'provider'): FetchResult => ({
  id,
  status: 'error',
  code: 613,
  message: 'store full: f (ENOSPC)',
  reach,
  wireBytes: 100,
  elapsedMs: 1,
});
const stored = (request: FetchRequest): FetchResult => ({
  ...ok(request.url),
  id: request.id,
  machineId: 'm1',
  fileId: fileIdOf({ id: request.id, gen: 0 }),
});
const urls = (count: number) => Array.from({ length: count }, (_, i) => url(`p${i}`));

describe('a store without room', () => {
  let qm: Qm;
  let uns: Uns;
  let bm: Bm;
  beforeEach(async () => {
    qm = new Qm('[qm]\nretries = 1\nretry_delay_ms = 1\nbackoff_min_ms = "1h"\nbackoff_max_ms = "1h"\n');
    await qm.start();
    uns = new Uns(qm);
    bm = new Bm(qm);
  });
  afterEach(async () => {
    uns.socket.destroy();
    bm.close();
    await qm.close();
  });

  const rests = (status: Record<string, unknown>) =>
    (status['bot_managers'] as { rests_ms?: number }[])[0]?.rests_ms !== undefined;
  const tries = (name: string) => bm.fetches.filter(request => request.url.endsWith(`/${name}`)).length;

  it('for one content takes the others; that one waits, beyond all retries, and is no error of its provider', async () => {
    let hasRoom = false;
    bm.onFetch = request =>
      request.url.endsWith('/p0') && !hasRoom ? roomless(request, 'url') : stored(request);
    await uns.set('e1', urls(20));
    await bm.until(() => tries('p0') >= 5);
    await qm.until(status => status['rows_queued'] === 1);
    const status = await qm.control('status');
    assert.equal(rests(status), false);
    assert.deepEqual(qm.rows('SELECT * FROM pierr'), []);
    assert.equal(status['errors'], 0, 'as the provider is told');
    assert.ok(Number(status['retries']) >= 4);
    hasRoom = true;
    await qm.until(status => status['rows_queued'] === 0);
    assert.equal(qm.rows('SELECT * FROM lccurl').length, 20);
  });

  it('for many contents in a row is left alone, and nothing of them is dropped', async () => {
    bm.onFetch = request => roomless(request, 'url');
    await uns.set('e1', urls(20));
    await qm.until(rests);
    assert.equal(qm.rows('SELECT * FROM qdb').length, 20);
    assert.deepEqual(qm.rows('SELECT * FROM pierr'), []);
    assert.match(
      qm.log,
      /Bot Manager cannot store content.*"reason":"store full: f \(ENOSPC\) \(a url of provider 7\)"/,
    );
  });

  it('for anything is left alone at once, and what was refused is first again', async () => {
    bm.onFetch = request => roomless(request, 'provider');
    await uns.set('e1', urls(20));
    await qm.until(rests);
    assert.deepEqual(qm.rows('SELECT max(tries) AS tries FROM qdb'), [{ tries: 0 }]);
  });
});
