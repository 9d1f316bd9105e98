/** The keeper killed at every step: the next one goes on, and what the engine has is the home. */
import assert from 'node:assert/strict';
import { copyFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { it } from 'node:test';
import { openDatabase, type Db } from '../../src/db/sqlite/open.js';
import { KeptHome } from '../support/keeper.js';
import { killAt } from '../support/kills.js';
import { isLong, longIt } from '../support/long.js';
import { until } from '../support/until.js';

/** lcc.db with rows of noise. */
function opened(home: KeptHome, megabytes: number): Db {
  const db = openDatabase(home.path);
  // As the Queue Manager while the keeper is away.
  db.pragma('wal_autocheckpoint = 0');
  db.exec('CREATE TABLE big(n INTEGER PRIMARY KEY, content BLOB NOT NULL)');
  const insert = db.prepare('INSERT INTO big(content) VALUES (randomblob(1000000))');
  db.transaction(() => {
    for (let i = 0; i < megabytes; i++) insert.run();
  })();
  return db;
}

/** Commits all the time. */
function load(db: Db): { stop: () => Promise<void> } {
  const change = db.prepare('UPDATE big SET content = randomblob(20000) WHERE n = 1 + abs(random()) % 200');
  const add = db.prepare(
    'INSERT OR IGNORE INTO big(n, content) VALUES (1 + abs(random()) % 200, randomblob(9000))',
  );
  let isOver = false;
  const work = () => {
    change.run();
    add.run();
    return isOver;
  };
  const ended = until('the end of the load', work, 3_600_000);
  const stop = async () => {
    isOver = true;
    await ended;
  };
  return { stop };
}

for (const step of ['keep.base.block', 'keep.base.block:3', 'keep.base.noted', 'keep.base.old-removed'])
  longIt(
    `a base under load, its keeper killed at ${step}: the next one completes it`,
    async () => {
      const home = new KeptHome();
      const db = opened(home, 6);
      const work = load(db);
      const { env, happened } = killAt(step);
      const killed = home.keeper(env);
      await until('the kill', () => happened() && killed.isOver);
      const next = home.keeper();
      assert.equal(await next.began(), step.startsWith('keep.base.block') ? 'none' : 'continues');
      await next.complete();
      await work.stop();
      assert.ok(await next.shipped());
      await home.requireSame(`after a kill at ${step}`);
      db.close();
      await home.close();
    },
    step === 'keep.base.block',
  );

it('keepers killed under load, while logs begin again, make no second base', async () => {
  const home = new KeptHome();
  const db = opened(home, 2);
  const first = home.keeper();
  await first.complete();
  await first.kill();
  const base = (await home.ledger.state('lcc'))?.base;
  const work = load(db);
  for (let kill = 0; kill < (isLong ? 200 : 4); kill++) {
    const keeper = home.keeper();
    assert.equal(await keeper.began(), 'continues', `after kill ${kill}`);
    for (let i = 0; i < kill % 3; i++) await keeper.shipped();
    // So the log is shipped, moved, and begins again.
    if (kill % 4 === 0) db.prepare('UPDATE big SET content = randomblob(800000) WHERE n < 9').run();
    if (kill % 2 === 0) await keeper.shipped();
    await keeper.kill();
    assert.deepEqual(
      keeper.said.filter(said => 'warning' in said),
      [],
      `before kill ${kill}`,
    );
  }
  const last = home.keeper();
  assert.equal(await last.began(), 'continues');
  await work.stop();
  assert.ok(await last.shipped());
  assert.equal((await home.ledger.state('lcc'))?.base, base);
  await home.requireSame('after all kills');
  db.close();
  await home.close();
});

for (const step of ['keep.replaced', 'keep.copy.piece', 'keep.copy.piece:4', 'keep.copy.renamed'])
  longIt(
    `an older home is replaced by what the engine has, its keeper killed at ${step}`,
    async () => {
      const home = new KeptHome();
      let db = opened(home, 3);
      const keeper = home.keeper();
      await keeper.complete();
      const before = `${home.path}.before`;
      await db.backup(before);
      db.prepare('UPDATE big SET content = randomblob(700)').run();
      assert.ok(await keeper.shipped());
      db.close();
      await keeper.end();
      copyFileSync(before, home.path);
      // Marks of the home that was: nobody must compare the copy with them.
      writeFileSync(`${home.path}.last-7`, 'another\n1\n\nserving\n');
      const { env, happened } = killAt(step);
      const killed = home.keeper(env);
      assert.equal(await killed.began(), 'other');
      await until('the kill', () => happened() && killed.isOver);
      const next = home.keeper();
      assert.equal(await next.began(), step === 'keep.copy.renamed' ? 'ended' : 'other');
      assert.ok(await next.shipped());
      db = openDatabase(home.path);
      assert.equal(db.prepare('SELECT max(length(content)) FROM big').pluck().get(), 700);
      db.exec('UPDATE big SET content = zeroblob(10)');
      assert.ok(await next.shipped());
      await home.requireSame(`after a kill at ${step}`);
      const names = readdirSync(dirname(home.path));
      assert.deepEqual(
        names.filter(name => /last-|leaving|-wal$/.test(name)),
        ['lcc.db-wal'],
      );
      assert.equal(names.filter(name => /replaced-\d+$/.test(name)).length, 1, names.join(' '));
      db.close();
      await home.close();
    },
    step === 'keep.copy.piece',
  );
