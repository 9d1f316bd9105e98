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

it('a home that was left in order is in the engine, a VACUUM with it', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-keep-'));
  const path = join(dir, 'lcc.db');
  const db = openDatabase(path);
  const ledger = new FolderLedger(join(dir, 'engine'));
  ledger.init('lcc', 1);
  const never = new AbortController();
  const state = await ledger.state('lcc');
  assert.ok(state);
  const shipper = new Shipper(
    { name: 'lcc', path, ledger, epoch: 1, machine: 'h1', clock: systemClock, log: silentLog },
    state,
    'none',
  );
  const stop = new AbortController();
  const running = shipper.run(stop.signal);
  db.exec('CREATE TABLE big(n INTEGER PRIMARY KEY, content BLOB)');
  for (let i = 0; i < 100; i++) {
    db.prepare('INSERT INTO big(content) VALUES (randomblob(20000))').run();
    await shipper.shipped();
  }
  await until('a base', () => shipper.isComplete);
  db.exec('DELETE FROM big WHERE n % 3 = 0; VACUUM');
  await shipper.shipped();
  db.close();
  stop.abort();
  await running;
  await shipper.end(never.signal);
  const copy = new HomeCopy({ name: 'lcc', path: join(dir, 'two/lcc.db'), ledger, clock: systemClock });
  await copy.finish(never.signal);
  const two = openSqlite(join(dir, 'two/lcc.db'));
  assert.deepEqual(two.pragma('integrity_check'), [{ integrity_check: 'ok' }]);
  assert.equal(two.prepare('SELECT count(*) FROM big').pluck().get(), 67);
  two.close();
  rmSync(dir, { recursive: true });
});
