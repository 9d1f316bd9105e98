import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { openDatabase } from '../../src/db/sqlite/open.js';
import { HomeCopy } from '../../src/keep/copy.js';
import { Shipper } from '../../src/keep/shipper.js';
import { systemClock } from '../../src/lib/clock.js';
import { silentLog } from '../../src/lib/log.js';
import { openSqlite } from '../../src/lib/sqlite.js';
import { FolderLedger } from '../support/folder-ledger.js';
import { until } from '../support/until.js';

/** A home, an engine that has nothing of it, and its keeper at work. */
async function shipping(clock = systemClock) {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-keep-'));
  const path = join(dir, 'lcc.db');
  const db = openDatabase(path);
  const ledger = new FolderLedger(join(dir, 'engine'));
  ledger.init('lcc', 1);
  const state = await ledger.state('lcc');
  assert.ok(state);
  const options = { name: 'lcc', path, ledger, epoch: 1, machine: 'h1', clock, log: silentLog } as const;
  const shipper = new Shipper(options, state, 'none');
  const stop = new AbortController();
  const running = shipper.run(stop.signal);
  const stopped = () => {
    stop.abort();
    return running;
  };
  db.exec('CREATE TABLE big(n INTEGER PRIMARY KEY, content BLOB)');
  return { dir, path, db, ledger, shipper, stopped };
}

it('a home that was left in order is in the engine, a VACUUM with it', async () => {
  const { dir, db, ledger, shipper, stopped } = await shipping();
  for (let i = 0; i < 100; i++) {
    db.prepare('INSERT INTO big(content) VALUES (randomblob(20000))').run();
    await shipper.shipped();
  }
  await until('a base', () => shipper.isComplete);
  db.exec('DELETE FROM big WHERE n % 3 = 0; VACUUM');
  await shipper.shipped();
  db.close();
  await stopped();
  const never = new AbortController();
  await shipper.end(never.signal);
  const copy = new HomeCopy({ name: 'lcc', path: join(dir, 'two/lcc.db'), ledger, clock: systemClock });
  await copy.finish(never.signal);
  const two = openSqlite(join(dir, 'two/lcc.db'));
  assert.deepEqual(two.pragma('integrity_check'), [{ integrity_check: 'ok' }]);
  assert.equal(two.prepare('SELECT count(*) FROM big').pluck().get(), 67);
  two.close();
  rmSync(dir, { recursive: true });
});

it('a home at rest after large transactions has its log moved, and waits for a reader that holds it', async () => {
  const pauses = { begun: 0, over: 0 };
  const after: typeof systemClock.after = (ms, action) => {
    pauses.begun++;
    return systemClock.after(ms, () => {
      pauses.over++;
      action();
    });
  };
  const { dir, path, db, shipper, stopped } = await shipping({ ...systemClock, after });
  db.pragma('wal_autocheckpoint = 0');
  await until('a base', () => shipper.isComplete);
  const reader = openSqlite(path);
  const log = () => (db.pragma('wal_checkpoint(NOOP)') as [{ log: number; checkpointed: number }])[0];
  const isMoved = () => log().log === log().checkpointed;
  for (let round = 0; round < 3; round++) {
    const isHeld = round === 2;
    if (isHeld) {
      reader.exec('BEGIN');
      reader.prepare('SELECT count(*) FROM big').get();
    }
    // More than the keeper leaves for a second round, in one shipment.
    db.transaction(() => {
      for (let i = 0; i < 24; i++) db.prepare('INSERT INTO big(content) VALUES (randomblob(1000000))').run();
    })();
    await shipper.shipped();
    if (isHeld) {
      const before = { ...pauses };
      await until('four pauses', () => pauses.over >= before.over + 4);
      assert.equal(isMoved(), false);
      assert.ok(pauses.begun - before.begun <= 12, `${pauses.begun - before.begun} rounds`);
      reader.exec('COMMIT');
    }
    await until(`the log is moved, round ${round}`, isMoved);
  }
  reader.close();
  await stopped();
  shipper.close();
  db.close();
  rmSync(dir, { recursive: true });
});
