/** The real Queue Manager on a database that something has happened to. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDatabase } from '../../src/db/sqlite/open.js';
import { damagePages, spoil } from '../support/damage.js';
import { Bm, Qm, Uns } from '../support/queue-manager.js';
import { ok, url } from './support.js';

test('sets that are missing at the start are found again from the urls, and fetched in order', async () => {
  const qm = new Qm();
  try {
    await qm.start();
    const uns = new Uns(qm);
    for (const set of [1, 2, 3])
      assert.ok(
        await uns.set(
          `e${set}`,
          [1, 2, 3].map(i => url(`s${set}-${i}`)),
        ),
      );
    await qm.kill();
    const db = openDatabase(qm.dbPath);
    db.exec('DELETE FROM qpsdb WHERE psetid <> 3; UPDATE qpsdb SET firstpos = 8');
    db.close();
    await qm.start();
    assert.match(qm.log, /sets of the queue: built again/);
    const bm = new Bm(qm, { slots: 1 });
    bm.onFetch = request => ({ ...ok(request.url), id: request.id });
    await qm.until(status => status['rows_queued'] === 0);
    assert.deepEqual(
      bm.fetches.map(({ url: each }) => each.replace('http://127.0.0.1/', '')),
      ['s1-1', 's1-2', 's1-3', 's2-1', 's2-2', 's2-3', 's3-1', 's3-2', 's3-3'],
    );
    bm.close();
  } finally {
    await qm.close();
  }
});

test('a row that cannot be ends it as damaged; the next start goes on without the row', async () => {
  const qm = new Qm();
  try {
    await qm.start();
    const uns = new Uns(qm);
    assert.ok(await uns.set('e1', [url('a'), url('b'), url('c')]));
    await qm.kill();
    spoil(qm.dbPath, "UPDATE queued SET name = CAST(name AS BLOB) WHERE name LIKE '%b'");
    await qm.start();
    const first = new Bm(qm, { slots: 1 });
    assert.equal(await qm.ended(), 65);
    first.close();
    assert.match(
      qm.log,
      /lcc\.db: database damaged \(row 2 of qdb has a value of another type\); stop lccd and/,
    );
    await qm.start();
    const bm = new Bm(qm, { slots: 1 });
    bm.onFetch = request => ({ ...ok(request.url), id: request.id });
    await qm.until(status => status['rows_queued'] === 0);
    bm.close();
    assert.deepEqual(
      bm.fetches.map(({ url: each }) => each.slice(-1)),
      ['a', 'c'],
    );
    assert.match(qm.log, /a new database has been started; every provider is asked for a full set/);
  } finally {
    await qm.close();
  }
});

test('damage that is met while it serves is logged with the name of the file and what to do', async () => {
  const qm = new Qm();
  try {
    await qm.start();
    const uns = new Uns(qm);
    assert.ok(
      await uns.set(
        'e1',
        Array.from({ length: 2000 }, (_, i) => url(`p${i}`)),
      ),
    );
    damagePages(qm.dbPath);
    const bm = new Bm(qm, { slots: 1 });
    assert.equal(await qm.ended(), 65);
    bm.close();
    assert.match(
      qm.log,
      /"fatal error, exiting","error":"[^"]*lcc\.db: database damaged \([^"]*\); stop lccd and run lccfsck --repair"/,
    );
  } finally {
    await qm.close();
  }
});
