import assert from 'node:assert/strict';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { CARRIED, LEFT_BEHIND } from '../../../src/db/moves/carried.js';
import { pack, Parcel } from '../../../src/db/moves/parcel.js';
import { fileIdOf } from '../../../src/db/names/naming.js';
import { SiteLogins } from '../../../src/db/providers/site-logins.js';
import { raiseCounters } from '../../../src/db/sqlite/counters.js';
import { silentLog } from '../../../src/lib/log.js';
import { audits } from '../../../src/qm/housekeeping/audits.js';
import { decidedRemovals } from '../../../src/qm/housekeeping/decided-removals.js';
import { departures } from '../../../src/qm/housekeeping/departures.js';
import { heldRecount } from '../../../src/qm/housekeeping/held-recount.js';
import { TruthEffects } from '../../../src/qm/housekeeping/truth-effects.js';
import { Bench, url } from '../../qm/support.js';
import { randomFrom } from '../../qm/simulation.js';
import { isLong } from '../../support/long.js';
import { ManualClock } from '../../support/manual-clock.js';
import { addRandomProvider, othersThan, placesOf, rowsOf } from './random-provider.js';

const SHARD = 2 ** 40;
const PID = 7;

let benches: Bench[] = [];
let files = 0;
beforeEach(() => (benches = []));
afterEach(() => {
  for (const bench of benches) bench.close();
});

function shard(n: number): Bench {
  const bench = new Bench();
  benches.push(bench);
  // What a power cut leaves is not at stake.
  bench.db.pragma('synchronous = OFF');
  raiseCounters(bench.db, n);
  return bench;
}

function clear({ store }: Bench, pid: number, rows = 2): void {
  const slices = store.clearing.slices(
    pid,
    () => rows,
    () => 50,
  );
  for (let over = false; !over;) over = store.transaction(() => slices.next().done === true);
  store.transaction(() => store.clearing.end(pid));
}

/** What the two shards do about a provider, one after the other. @param adopt the new file of one, if any */
function move(
  from: Bench,
  src: number,
  to: Bench,
  dst: number,
  adopt: () => string | undefined = newFile,
): void {
  from.store.transaction(() => from.store.moving.leave(PID));
  from.db.pragma('wal_checkpoint(TRUNCATE)');
  const path = join(to.dir, 'parcel');
  pack(from.path, path, { pid: PID, src });
  put(to, path, dst, adopt);
  clear(from, PID);
  to.store.settle(PID);
}

function put(
  { store }: Bench,
  path: string,
  dst: number,
  adopt = newFile,
  most = Infinity,
  between = () => {},
): void {
  const parcel = new Parcel(path);
  const arrival = store.arrival(parcel, dst);
  store.transaction(() => {
    store.moving.come(PID);
    arrival.begin();
  });
  for (let n = 0; n < most; n++) {
    const slice = arrival.next(3);
    if (slice === undefined) break;
    store.transaction(() => arrival.put(slice, slice.files.map(adopt), 50));
    between();
  }
  parcel.close();
}

function newFile(): string | undefined {
  return fileIdOf({ id: 1_000_000 + files++, gen: 0 });
}

test('every table with rows of a provider either comes along or says why not', () => {
  const { db } = shard(0);
  const withPid = db
    .prepare<[], string>(
      `SELECT t.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type IN ('table', 'view') AND c.name = 'pid'`,
    )
    .pluck()
    .all();
  const known = [...CARRIED.map(({ table }) => table), ...Object.keys(LEFT_BEHIND)];
  // Those know a provider by its sets and its content.
  assert.deepEqual([...withPid, 'helddelete', 'visit'].sort(), known.sort());
});

test('a provider that moved to another shard and back has every row it had, in the same order, and others are as they were', () => {
  const [a, b] = [shard(0), shard(1)];
  for (let seed = 1; seed <= (isLong ? 400 : 30); seed++) {
    const random = randomFrom(seed);
    const roll = (below: number) => Math.floor(random() * below);
    // Of the others the last few are as good as all of them.
    for (const pid of [seed * 10, PID, seed * 10 + 1]) addRandomProvider(a.db, pid, roll);
    addRandomProvider(b.db, seed * 10 + 2, roll);
    const before = { rows: rowsOf(a.db, PID), places: placesOf(a.db, PID) };
    const beside = { a: othersThan(a.db, PID), b: othersThan(b.db, PID) };
    const files = a.all<{ fetched_fileid: string }>(
      `SELECT fetched_fileid FROM lccurl WHERE pid = ${PID} ORDER BY 1`,
    );

    move(a, 0, b, 1);
    const there = rowsOf(b.db, PID);
    const ofUns = (rows: Record<string, unknown>[] = []) =>
      rows.map(row => ({
        ...row,
        ...('uns' in row && { uns: '0/uns' }),
        ...('latestuns' in row && { latestuns: '0/uns' }),
      }));
    const expected = Object.entries(before.rows).map(([table, rows]) => [table, ofUns(rows)]);
    assert.deepEqual(there, Object.fromEntries(expected), `seed ${seed}`);
    assert.deepEqual(placesOf(b.db, PID), before.places, `seed ${seed}`);
    assert.ok(
      Object.values(rowsOf(a.db, PID)).every(rows => rows.length === 0),
      `seed ${seed}`,
    );
    assert.deepEqual(othersThan(a.db, PID), beside.a, `seed ${seed}`);
    assert.deepEqual(othersThan(b.db, PID), beside.b, `seed ${seed}`);
    for (const [table, column] of [
      ['lccurl', 'seq'],
      ['tombstone', 'seq'],
      ['qdb', 'pos'],
      ['absorbed', 'psetid'],
    ])
      assert.deepEqual(
        b.all(`SELECT ${column} FROM ${table} WHERE pid = ${PID} AND ${column} < ${SHARD}`),
        [],
      );
    assert.deepEqual(
      a.all(`SELECT fileid AS fetched_fileid FROM freed ORDER BY 1`),
      files,
      'files of what went are freed',
    );
    assert.equal(a.all(`SELECT 1 FROM oldpath WHERE pid = ${PID}`).length, files.length);
    assert.deepEqual(a.all(`SELECT 1 FROM tombstone WHERE pid = ${PID}`), [], 'nobody is told of a deletion');

    move(b, 1, a, 0);
    assert.deepEqual(rowsOf(a.db, PID), before.rows, `seed ${seed}, back`);
    assert.deepEqual(placesOf(a.db, PID), before.places, `seed ${seed}, back`);
    assert.deepEqual(othersThan(a.db, PID), beside.a, `seed ${seed}, back`);
    assert.equal(a.db.pragma('foreign_key_check', { simple: true }), undefined);
    for (const [bench, pids] of [
      [a, [PID, seed * 10, seed * 10 + 1]],
      [b, [seed * 10 + 2]],
    ] as const) {
      for (const pid of pids) clear(bench, pid, 100);
      bench.db.exec('DELETE FROM freed; DELETE FROM oldpath');
    }
  }
});

test('a copy that was cut off anywhere and begun again leaves what one leaves that was not', () => {
  const random = randomFrom(5);
  const roll = (below: number) => Math.floor(random() * below);
  const [a, b] = [shard(0), shard(1)];
  addRandomProvider(a.db, PID, roll);
  addRandomProvider(b.db, 16, roll);
  const before = rowsOf(a.db, PID);
  a.store.transaction(() => a.store.moving.leave(PID));
  a.db.pragma('wal_checkpoint(TRUNCATE)');
  const path = join(b.dir, 'parcel');
  pack(a.path, path, { pid: PID, src: 0 });
  for (let cut = 1; cut < 40; cut += 3) {
    put(b, path, 1, newFile, cut);
    b.reopen();
    clear(b, PID, 1);
    assert.ok(
      Object.values(rowsOf(b.db, PID)).every(rows => rows.length === 0),
      `cut ${cut}`,
    );
  }
  put(b, path, 1);
  const { pidb, absorbed, ...rows } = rowsOf(b.db, PID);
  const { pidb: _one, absorbed: _sets, ...expected } = before;
  assert.deepEqual(rows, expected);
  assert.equal(pidb?.length, 1);
  assert.equal(absorbed?.length, before['absorbed']?.length);
});

/** A round of all chores that change rows of providers, some days after those of `addRandomProvider`. */
function keepHouse({ store }: Bench): void {
  const clock = new ManualClock(5 * 86_400_000);
  const of = { store, clock, log: silentLog, sliceUrls: 100, onCommit: () => {}, changed: () => {} };
  const recount = heldRecount(of);
  while (recount.run() < 1000);
  const chores = [
    audits({ ...of, onSet: () => {} }),
    new TruthEffects(of),
    decidedRemovals(of),
    departures(of),
  ];
  for (const chore of chores) for (let n = 0; n < 10; n++) chore.run();
}

test('of a provider that moves housekeeping changes nothing, whatever part of it is here', () => {
  let changed = 0;
  for (let seed = 1; seed <= (isLong ? 100 : 5); seed++) {
    const random = randomFrom(seed);
    const [a, b] = [shard(0), shard(1)];
    addRandomProvider(a.db, PID, below => Math.floor(random() * below));
    const before = rowsOf(a.db, PID);
    a.store.transaction(() => a.store.moving.leave(PID));
    keepHouse(a);
    assert.deepEqual(rowsOf(a.db, PID), before, `seed ${seed}, before it leaves`);
    a.db.pragma('wal_checkpoint(TRUNCATE)');
    const path = join(b.dir, 'parcel');
    pack(a.path, path, { pid: PID, src: 0 });
    let parts = 0;
    put(b, path, 1, newFile, Infinity, () => {
      const part = rowsOf(b.db, PID);
      keepHouse(b);
      assert.deepEqual(rowsOf(b.db, PID), part, `seed ${seed}, part ${++parts}`);
    });
    const whole = rowsOf(b.db, PID);
    b.store.settle(PID);
    keepHouse(b);
    if (!isDeepStrictEqual(rowsOf(b.db, PID), whole)) changed++;
  }
  assert.ok(changed > 2, 'what stays is kept in order');
});

test('of a provider that came back memory has nothing of before', async () => {
  const [a, b] = [shard(0), shard(1)];
  a.provider(PID, { spacemax: 1000 });
  // Too long: it is summed up that nothing waits.
  await a.send(PID, [url('long', { len: '2000' })]);
  move(a, 0, b, 1);
  b.db.exec(
    `INSERT INTO audit(pid, began, id, curl, mimetype, state, asked) VALUES (${PID}, 2, 1, 'seen', 'text/html', 1, 9)`,
  );
  await b.send(PID, [url('waits', { len: '700' })], { newest: 10 });
  assert.equal(a.store.audits.watches(PID), false);
  move(b, 1, a, 0);
  assert.equal(a.store.audits.watches(PID), true, 'notices count');
  await a.send(PID, [url('more', { len: '700' })], { newest: 20 });
  assert.deepEqual(
    a.all<{ curl: string }>('SELECT curl FROM qdb').map(({ curl }) => curl.split('/').at(-1)),
    ['waits'],
    'what waits counts',
  );
});

test('the login for a site comes along, and does not stay behind', () => {
  const [a, b] = [shard(0), shard(1)];
  addRandomProvider(a.db, PID, () => 0);
  const [ours, theirs] = [new SiteLogins(a.db), new SiteLogins(b.db)];
  a.store.transaction(() => ours.set(PID, 'user:secret'));
  move(a, 0, b, 1);
  assert.equal(theirs.of(PID, ''), 'user:secret');
  assert.equal(ours.of(PID, ''), undefined);
  assert.deepEqual(b.all('SELECT login FROM sitelogin'), [{ login: '' }]);
  assert.deepEqual(b.all('SELECT * FROM moving'), []);
});

test('content whose machine is away is queued, its owner told of it as of a deletion', () => {
  const [a, b] = [shard(0), shard(1)];
  addRandomProvider(a.db, PID, below => Math.min(below - 1, 3));
  const held = a.all<{ curl: string }>(`SELECT curl FROM lccurl WHERE pid = ${PID} ORDER BY curl`);
  assert.ok(held.length > 0);
  move(a, 0, b, 1, () => undefined);
  assert.deepEqual(b.all('SELECT curl FROM lccurl'), []);
  const told = b.all<{ curl: string }>('SELECT curl FROM tombstone');
  const queued = b.all<{ curl: string }>('SELECT curl FROM qdb');
  for (const { curl } of held) {
    assert.ok(told.some(each => each.curl === curl));
    assert.ok(queued.some(each => each.curl === curl));
  }
  assert.deepEqual(b.all('SELECT filesused, spaceused FROM pidb'), [{ filesused: 0, spaceused: 0 }]);
  assert.deepEqual(b.all('SELECT * FROM freed'), [], 'what another shard has is not deleted here');
});
