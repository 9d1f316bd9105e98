/** Large amounts: how long a log becomes, transactions larger than memory, other programs. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { it } from 'node:test';
import { OPEN_GATE } from '../../src/daemon/kept.js';
import { Checkpoints } from '../../src/db/sqlite/checkpoints.js';
import { openDatabase, STEPS } from '../../src/db/sqlite/open.js';
import { upgrade, versionOf } from '../../src/db/sqlite/schema-version.js';
import { openWal } from '../../src/db/sqlite/wal.js';
import { systemClock as clock } from '../../src/lib/clock.js';
import { silentLog } from '../../src/lib/log.js';
import { openSqlite } from '../../src/lib/sqlite.js';
import { LogBrake } from '../../src/qm/log-brake.js';
import { KeptHome } from '../support/keeper.js';
import { isLong } from '../support/long.js';
import { until } from '../support/until.js';
import { SQLITE } from '../support/new-database.js';

const MIB = 1 << 20;
/** 1 GB that cannot be compressed, on a machine that has other work. */
const LARGE_MS = 1_800_000;

it('under scattered load without a pause the log stays short', async () => {
  const home = new KeptHome();
  const db = openDatabase(home.path);
  db.pragma('wal_autocheckpoint = 0');
  // Else each of its commits waits for the disk.
  db.pragma('synchronous = NORMAL');
  db.exec('CREATE TABLE big(n INTEGER PRIMARY KEY, content BLOB NOT NULL)');
  db.transaction(() => {
    for (let n = 0; n < 5000; n++) db.prepare('INSERT INTO big VALUES (?, randomblob(1000))').run(n);
  })();
  const keeper = home.keeper();
  await keeper.complete();
  const change = db.prepare('UPDATE big SET content = randomblob(1000) WHERE n = abs(random()) % 5000');
  const some = db.transaction(() => {
    for (let i = 0; i < 500; i++) change.run();
  });
  // As the Queue Manager commits.
  const checkpoints = new Checkpoints(db, silentLog, () => false, true);
  const shipped = async () => assert.ok(await keeper.shipped());
  const brake = new LogBrake({ kept: { ...OPEN_GATE, isKept: true, shipped }, checkpoints, clock });
  let most = 0;
  /** How often the brake was on since the log began last, and the most of it. */
  let brakes = 0;
  let mostBrakes = 0;

  const untilMs = performance.now() + (isLong ? 120_000 : 4000);
  while (performance.now() < untilMs) {
    for (let i = 0; i < 5; i++) some();
    checkpoints.committed();
    brake.committed();
    const isBraked = brake.isOn;
    await brake.off();
    brakes = checkpoints.logPages < 65_536 ? 0 : brakes + Number(isBraked);
    mostBrakes = Math.max(mostBrakes, brakes);
    // Its answers, and its keeper's.
    await keeper.figures();
    most = Math.max(most, statSync(`${home.path}-wal`).size);
  }
  // On a busy disk the brake waits once in vain, at most: that lets 64 MB more be written.
  assert.ok(mostBrakes <= 2, `${mostBrakes} brakes`);
  assert.ok(most <= (300 + 64 * Math.max(0, mostBrakes - 1)) * MIB, `${most} bytes`);
  assert.ok(await keeper.shipped());
  await home.requireSame('after the load');
  db.close();
  await home.close();
});

it('a transaction larger than the memory that the keeper takes is shipped, a VACUUM as well', async () => {
  const megabytes = isLong ? 300 : 50;
  const home = new KeptHome();
  const db = openDatabase(home.path);
  const keeper = home.keeper({ NODE_OPTIONS: '--max-old-space-size=64' });
  await keeper.complete();
  db.exec('CREATE TABLE big(n INTEGER PRIMARY KEY, content BLOB NOT NULL)');
  db.transaction(() => {
    for (let n = 0; n < megabytes; n++) db.prepare('INSERT INTO big VALUES (?, randomblob(1000000))').run(n);
  })();
  assert.ok(await keeper.shipped(LARGE_MS));
  db.exec('DELETE FROM big WHERE n % 2 = 0');
  db.exec('VACUUM');
  assert.ok(await keeper.shipped(LARGE_MS));
  await home.requireSame('after a VACUUM');
  db.close();
  await home.close();
});

it('what another program writes with SQL is shipped, without a question as well', async () => {
  const home = new KeptHome();
  const db = openDatabase(home.path);
  const keeper = home.keeper();
  await keeper.complete();
  const before = (await home.ledger.state('lcc'))?.n ?? 0;
  const sqlite = createRequire(import.meta.url).resolve(SQLITE);
  const program = `const db = new (require(process.argv[1]))(process.argv[2]);
    db.exec("UPDATE counter SET value = value + 5; CREATE TABLE notes(a); INSERT INTO notes VALUES ('by hand')");`;
  const run = spawnSync(process.execPath, ['-e', program, sqlite, home.path], { encoding: 'utf8' });
  assert.equal(run.status, 0, run.stderr);
  await until('a shipment', async () => ((await home.ledger.state('lcc'))?.n ?? 0) > before);
  assert.equal((await keeper.figures()).unshippedBytes, 0);
  await home.requireSame('after SQL by hand');
  db.close();
  await home.close();
});

it('the upgrade of an older database is shipped', async () => {
  const home = new KeptHome();
  openWal(home.path, { synchronous: 'FULL', busyMs: 1000 }, db =>
    upgrade(db, home.path, STEPS.slice(0, 1), () => undefined),
  ).close();
  const keeper = home.keeper();
  await keeper.complete();
  const db = openDatabase(home.path);
  assert.ok(await keeper.shipped());
  const copy = openSqlite(await home.copied());
  assert.equal(versionOf(copy, home.path, STEPS), STEPS.length);
  copy.close();
  await home.requireSame('after an upgrade');
  db.close();
  await home.close();
});
