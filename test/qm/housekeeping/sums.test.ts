import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../src/lib/clock.js';
import { lookingThrough, Sums } from '../../../src/qm/housekeeping/sums.js';
import { openDatabase } from '../../../src/db/open.js';
import { Bm, Qm, Uns } from '../daemon.js';
import { ok, url } from '../support.js';

test('a damaged row of content that nobody touches is removed, told and asked for again', async () => {
  const qm = new Qm();
  try {
    await qm.start();
    const uns = new Uns(qm);
    const bm = new Bm(qm);
    bm.onFetch = request => ({ ...ok(request.url), id: request.id, fileId: `f${request.id}` });
    await uns.set('e1', [url('a'), url('b'), url('c')]);
    await qm.until(status => status['idle'] === true && status['rows_queued'] === 0);
    bm.close();
    await qm.kill();
    const db = openDatabase(qm.dbPath);
    db.exec("UPDATE lccurl SET len = len + 1 WHERE curl LIKE '%b'");
    db.close();
    await qm.start();
    await qm.until(status => status['rows_damaged'] === 1);
    assert.match(qm.log, /a damaged row is removed; its provider is asked for a full set/);
    assert.deepEqual(qm.rows('SELECT substr(curl, -1) AS name FROM lccurl ORDER BY id'), [
      { name: 'a' },
      { name: 'c' },
    ]);
    assert.deepEqual(qm.rows('SELECT count(*) AS n FROM tombstone'), [{ n: 1 }]);
    assert.deepEqual(qm.rows('SELECT fullsetwanted, filesused FROM pidb WHERE pid = 7'), [
      { fullsetwanted: 'cache crash', filesused: 2 },
    ]);
  } finally {
    await qm.close();
  }
});

test('looking through rows takes a hundredth of the time at most, however long a page takes', () => {
  const clock = new ManualClock();
  const pages = function* (): Generator<number[], void> {
    for (const tookMs of [0, 4, 70, 900]) {
      clock.advance(tookMs);
      yield [];
    }
  };
  const chore = new Sums(clock, [lookingThrough(pages, () => undefined)]);
  assert.deepEqual([chore.run(), chore.run(), chore.run(), chore.run()], [500, 500, 7000, 90_000]);
  assert.equal(chore.run(), 3_600_000, 'a round is over');
});
