/** The real Queue Manager on a database that something has happened to. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDatabase } from '../../src/db/open.js';
import { damagePages } from '../support/damage.js';
import { Bm, Qm, Uns } from './daemon.js';
import { ok, url } from './support.js';

test('sets that are missing at the start are told anew from the urls, and fetched in order', async () => {
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
    db.exec("UPDATE qdb SET furl = 'http://127.0.0.1/elsewhere' WHERE curl LIKE '%s2-2'");
    db.close();
    await qm.start();
    assert.match(qm.log, /the sets of the queue were told anew/);
    const bm = new Bm(qm, { slots: 1 });
    bm.onFetch = request => ({ ...ok(request.url), id: request.id });
    await qm.until(status => status['rows_queued'] === 0);
    assert.deepEqual(
      bm.fetches.map(({ url: each }) => each.replace('http://127.0.0.1/', '')),
      ['s1-1', 's1-2', 's1-3', 's2-1', 's2-3', 's3-1', 's3-2', 's3-3'],
      'all but the damaged one, which is never asked for',
    );
    assert.match(qm.log, /a damaged row is removed; its provider is asked for a full set/);
    assert.deepEqual(qm.rows('SELECT fullsetwanted FROM pidb WHERE pid = 7'), [
      { fullsetwanted: 'cache crash' },
    ]);
    bm.close();
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
      /"cannot go on","error":"[^"]*lcc\.db: database damaged \([^"]*\); stop lccd and run lccfsck --repair"/,
    );
  } finally {
    await qm.close();
  }
});
