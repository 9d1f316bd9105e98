/** The home as against the engine, at a start. */
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { it } from 'node:test';
import { openDatabase, type Db } from '../../src/db/sqlite/open.js';
import { readPosition, textOfPosition } from '../../src/keep/place.js';
import { setAside, standingOf } from '../../src/keep/standing.js';
import { KeptHome } from '../support/keeper.js';
import { until } from '../support/until.js';

const MACHINE = 'h1.example.org';

/** A home that a keeper has shipped, and was killed, or ended in order with all others. */
async function left(
  how: 'killed' | 'in order',
): Promise<{ home: KeptHome; db: Db; now: () => Promise<string> }> {
  const home = new KeptHome();
  const db = openDatabase(home.path);
  db.pragma('wal_autocheckpoint = 0');
  db.exec('CREATE TABLE big(n INTEGER PRIMARY KEY, content BLOB NOT NULL)');
  const keeper = home.keeper();
  await keeper.complete();
  db.exec('INSERT INTO big(content) VALUES (randomblob(100000))');
  assert.ok(await keeper.shipped());
  if (how === 'killed') await keeper.kill();
  else {
    db.close();
    await keeper.end();
  }
  return { home, db, now: async () => standingOf(home.path, await home.ledger.state('lcc'), MACHINE) };
}

it('an engine that has nothing, or no whole base, says nothing about the home', async () => {
  const home = new KeptHome();
  assert.equal(standingOf(home.path, undefined, MACHINE), 'none');
  assert.equal(standingOf(home.path, await home.ledger.state('lcc'), MACHINE), 'none');
  const begun = { epoch: 1, n: 4, pos: '1 2 32 3 4 5', base: 0 };
  assert.equal(standingOf(home.path, begun, MACHINE), 'none');
  await home.close();
});

it('a home whose keeper was killed goes on, with what was committed since', async () => {
  const { home, db, now } = await left('killed');
  assert.equal(await now(), 'continues');
  db.exec('INSERT INTO big(content) VALUES (randomblob(100000))');
  assert.equal(await now(), 'continues');
  db.close();
  assert.equal(await now(), 'other', 'its log is gone');
  await home.close();
});

it('a log that was moved into the database while nobody kept it does not go on', async () => {
  const { home, db, now } = await left('killed');
  db.exec('INSERT INTO big(content) VALUES (randomblob(100000))');
  db.pragma('wal_checkpoint(RESTART)');
  db.exec('INSERT INTO big(content) VALUES (randomblob(100000))');
  assert.equal(await now(), 'other', 'nobody knows what its first log had at its end');
  db.close();
  await home.close();
});

it('a log that was moved into the database, and did not begin again, is shipped with all of the database', async () => {
  const { home, db, now } = await left('killed');
  db.exec('INSERT INTO big(content) VALUES (randomblob(100000))');
  db.pragma('wal_checkpoint(PASSIVE)');
  assert.equal(await now(), 'continues');
  const keeper = home.keeper();
  assert.ok(await keeper.shipped());
  assert.equal(keeper.said.filter(said => 'warning' in said).length, 1);
  await home.requireSame('after all was shipped');
  db.close();
  await home.close();
});

it('a home that ended in order goes on, until anybody changes it', async () => {
  const { home, now } = await left('in order');
  assert.equal(await now(), 'ended');
  assert.equal(existsSync(`${home.path}-wal`), false);
  const state = await home.ledger.state('lcc');
  assert.equal(standingOf(home.path, state, 'h2.example.org'), 'other', 'it is of another machine');
  const db = openDatabase(home.path);
  db.exec('UPDATE big SET content = zeroblob(9)');
  assert.equal(await now(), 'ended', 'its log begins where the file ended');
  db.close();
  assert.equal(await now(), 'other', 'edited while stopped');
  await home.close();
});

it('an older copy, another file and none are not what the engine has', async () => {
  const { home, now } = await left('in order');
  const copy = `${home.path}.copy-of-it`;
  copyFileSync(home.path, copy);
  rmSync(home.path);
  assert.equal(await now(), 'other', 'gone');
  copyFileSync(copy, home.path);
  assert.equal(await now(), 'other', 'put back');
  await home.close();
});

it('a home that stands aside is kept until the next one does', async () => {
  const home = new KeptHome();
  const names = () => readdirSync(dirname(home.path)).sort();
  setAside(home.path, Date.UTC(2026, 10, 27));
  assert.deepEqual(names(), []);
  // Three within a second: a name is free again once the next one stands aside.
  for (const [day, name] of [
    [28, 'lcc.db.replaced-20261128000000'],
    [29, 'lcc.db.replaced-20261129000000'],
    [29, 'lcc.db.replaced-20261129000000-2'],
    [29, 'lcc.db.replaced-20261129000000'],
  ] as const) {
    for (const part of ['', '-wal']) writeFileSync(home.path + part, String(day));
    setAside(home.path, Date.UTC(2026, 10, day));
    assert.deepEqual(names(), [name, `${name}-wal`]);
  }
  await home.close();
});

it('a database that is put in the place of the one that is kept is shipped as a whole', async () => {
  const home = new KeptHome();
  let db = openDatabase(home.path);
  const keeper = home.keeper();
  await keeper.complete();
  await db.backup(`${home.path}.new`);
  db.exec('CREATE TABLE big(n INTEGER PRIMARY KEY)');
  assert.ok(await keeper.shipped());
  db.close();
  // As the Queue Manager does with a damaged one.
  for (const part of ['-wal', '-shm']) rmSync(home.path + part, { force: true });
  copyFileSync(`${home.path}.new`, `${home.path}.newer`);
  rmSync(home.path);
  copyFileSync(`${home.path}.newer`, home.path);
  db = openDatabase(home.path);
  db.exec('CREATE TABLE salvaged(n INTEGER PRIMARY KEY)');
  assert.ok(await keeper.shipped());
  await home.requireSame('after another database was put there');
  assert.deepEqual(
    db.prepare("SELECT name FROM sqlite_schema WHERE name IN ('big', 'salvaged')").pluck().all(),
    ['salvaged'],
  );
  db.close();
  await home.close();
});

it('once another machine owns the home nothing more is shipped, and who asks is refused', async () => {
  const { home, db } = await left('killed');
  const keeper = home.keeper();
  assert.ok(await keeper.shipped());
  home.ledger.claim('lcc');
  db.exec('INSERT INTO big(content) VALUES (randomblob(100000))');
  const before = await home.ledger.state('lcc');
  void keeper.shipped();
  await until('its end', () => keeper.said.some(said => 'lost' in said));
  assert.match(JSON.stringify(keeper.said.at(-1)), /LccError: lcc: another machine owns the home/);
  assert.deepEqual(await home.ledger.state('lcc'), before);
  assert.equal(keeper.said.filter(said => 'shipped' in said).length, 1);
  db.close();
  await home.close();
});

it('a position is read as it was written, and nothing else is', () => {
  const place = { salts: [4_294_967_295, 1], offset: 2 ** 40, sums: [7, 4_294_967_295] } as const;
  for (const ended of [undefined, 'h1 5 6 1795869663553938273'])
    for (const isWhole of [true, false]) {
      const position = { place, sinceBytes: 3, isWhole, ended };
      assert.deepEqual(readPosition(textOfPosition(position)), position);
    }
  for (const text of [
    '1 2 3',
    '1 2 3 4 5 -6',
    '1 2 3 4 5 6 half',
    '1 2 3 4 5 6 ended h1 1 2',
    'x'.repeat(999),
  ])
    assert.throws(() => readPosition(text), /^LccError: the engine: ".*" is no position in a log$/);
});
