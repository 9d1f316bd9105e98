/** Where a Bot Manager says that content is, against where it can be: the real Queue Manager. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { afterEach, beforeEach, test } from 'node:test';
import { fileIdOf } from '../../src/db/names/naming.js';
import type { FetchRequest } from '../../src/wire/fetch.js';
import { Bm, Qm, Uns } from '../support/queue-manager.js';
import { ok, url } from './support.js';

let qm: Qm;
beforeEach(() => {
  qm = new Qm();
});
afterEach(() => qm.close());

const stored = (request: FetchRequest) => ({
  ...ok(request.url),
  id: request.id,
  fileId: fileIdOf({ id: request.id, gen: 0 }),
});

test('a Bot Manager that has stored content where no row may point is cut off, and another fetches the url', async () => {
  await qm.start();
  const uns = new Uns(qm);
  await uns.set('e1', [url('p')]);
  for (const wrong of [
    { fileId: '../../etc/passwd' },
    { fileId: '00/01/00000001.0' },
    { fileId: `00/00/00000001.0${'0'.repeat(1000)}` },
    { machineId: 'near' },
  ]) {
    const bm = new Bm(qm, { machineId: 'm1' });
    bm.onFetch = request => ({ ...stored(request), ...wrong });
    await once(bm.socket, 'close');
    assert.equal(bm.fetches.length, 1);
    assert.deepEqual(qm.rows('SELECT * FROM lccurl'), []);
  }
  const bm = new Bm(qm, { machineId: 'm1' });
  bm.onFetch = stored;
  await qm.until(status => status['idle'] === true && status['rows_queued'] === 0);
  const [asked] = bm.fetches;
  assert.deepEqual(qm.rows('SELECT fetched_machineid AS machine, fetched_fileid AS file FROM lccurl'), [
    { machine: 'm1', file: fileIdOf({ id: asked?.id ?? NaN, gen: 0 }) },
  ]);
  uns.socket.destroy();
  bm.close();
});
