import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { FsckLook } from '../../src/db/fsck-look.js';
import { absolute, Bench, url, setsOf } from './support.js';

let bench: Bench;
beforeEach(() => {
  bench = new Bench();
  bench.provider(7);
});
afterEach(() => bench.close());

/** Writing past the store would leave rows that do not agree with their sums, which the store takes for damaged. */

test('a set of an unknown provider is refused', async () => {
  const answer = await bench.send(99, [url('a')]);
  assert.deepEqual(answer, { code: 101, reason: 'provider 99 is unknown' });
});

test('sets of one provider are taken one after the other, those of others at once', async () => {
  bench.provider(8);
  const first = await bench.intake.begin('u1', bench.head(7, 1));
  let begun = false;
  const second = bench.intake.begin('u2', bench.head(7, 1)).then(set => {
    begun = true;
    return set;
  });
  await bench.send(8, [url('x')]);
  assert.equal(begun, false);
  first.urls([url('a')]);
  await first.end();
  const set = await second;
  set.urls([url('b')]);
  await set.end();
  assert.deepEqual(
    bench.all('SELECT curl FROM qdb WHERE pid = 7 ORDER BY pos').map(r => r['curl']),
    [absolute('a'), absolute('b')],
  );
  assert.equal(bench.intake.open, 0);
});

/** Provider 7 has two errors. @returns the number of the first */
async function twoErrors(): Promise<number> {
  await bench.send(7, [url('a'), url('b')]);
  for (const name of ['a', 'b']) bench.missing(7, name);
  return Number(bench.value('SELECT min(errseq) FROM pierr'));
}

test('errors are forgotten only up to the one the CP has received', async () => {
  const first = await twoErrors();
  await bench.intake.note({ pid: 7, seq: 5, ip: '192.0.2.9', errseen: first });
  assert.deepEqual(bench.all('SELECT errseq FROM pierr ORDER BY errseq'), [{ errseq: first + 1 }]);
  assert.deepEqual(bench.all('SELECT nurlerrs, lastconnseq, lastconnip FROM pidb'), [
    { nurlerrs: 1, lastconnseq: 5, lastconnip: '192.0.2.9' },
  ]);
});

test('sets that can no longer come again are forgotten, and no others', async () => {
  bench.close();
  bench = new Bench({ sliceUrls: 1 });
  for (const pid of [7, 8]) bench.provider(pid);
  await bench.send(7, [url('a')]);
  const open = await bench.intake.begin('u1', bench.head(7, 2));
  open.urls([url('b')]);
  open.cut();
  const elsewhere = await bench.intake.begin('u2', bench.head(8, 1));
  elsewhere.urls([url('c')]);
  await elsewhere.end();
  bench.db.exec("UPDATE counter SET value = 10998 WHERE name = 'psetid'");
  const known = () => bench.all<{ psetid: number }>('SELECT psetid FROM absorbed').map(row => row.psetid);
  await bench.send(8, [url('d')]);
  assert.deepEqual(
    known().toSorted((a, b) => a - b),
    [1, 2, 3, 10_999],
  );
  await bench.send(8, [url('e')]);
  assert.deepEqual(
    known().toSorted((a, b) => a - b),
    [2, 3, 10_999, 11_000],
  );
});

test('a set says which session it is of, and which errors its CP had received', async () => {
  const first = await twoErrors();
  await bench.send(7, [url('c')], { seq: 17, ip: '192.0.2.17', errseen: first });
  assert.deepEqual(bench.all('SELECT errseq FROM pierr ORDER BY errseq'), [{ errseq: first + 1 }]);
  assert.deepEqual(bench.all('SELECT nurlerrs, lastconnseq, lastconnip FROM pidb'), [
    { nurlerrs: 1, lastconnseq: 17, lastconnip: '192.0.2.17' },
  ]);
});

test('errors count as the tables say when some are received with a set that adds others beyond those that are kept', async () => {
  bench.close();
  bench = new Bench({ errorsKept: 2 });
  bench.provider(7, { filesmax: 2 });
  const first = await twoErrors();
  const wrong = () => new FsckLook(bench.db).wrongCounts();
  await bench.send(
    7,
    ['c', 'd', 'e'].map(name => url(name)),
    { errseen: first + 1 },
  );
  assert.deepEqual([bench.value('SELECT nurlerrs FROM pidb'), wrong()], [1, []]);
  assert.equal(bench.value('SELECT count(*) FROM pierr'), 1, 'there is room for it');
  await bench.send(
    7,
    ['f', 'g', 'h'].map(name => url(name)),
  );
  assert.deepEqual([bench.value('SELECT nurlerrs FROM pidb'), wrong()], [4, []]);
  const last = Number(bench.value('SELECT max(errseq) FROM pierr'));
  const set = await bench.intake.begin('u1', bench.head(7, 1));
  set.urls([url('i')]);
  await Promise.all([set.end(), bench.intake.note({ pid: 7, seq: 99, ip: '', errseen: last })]);
  assert.deepEqual(
    [bench.value('SELECT nurlerrs FROM pidb'), wrong()],
    [4, []],
    'of one its CP has not been told',
  );
  await bench.intake.note({ pid: 7, seq: 99, ip: '', errseen: last + 1 });
  assert.deepEqual([bench.value('SELECT nurlerrs FROM pidb'), wrong()], [0, []]);
});

test('a session that is told of late does not hide a later one', async () => {
  await bench.intake.note({ pid: 7, seq: 5, ip: '192.0.2.5', errseen: 0 });
  bench.clock.jumpTo(bench.clock.nowMs() - 86_400_000);
  await bench.intake.note({ pid: 7, seq: 4, ip: '192.0.2.4', errseen: 0 });
  assert.deepEqual(bench.all('SELECT lastconnseq, lastconnip FROM pidb'), [
    { lastconnseq: 5, lastconnip: '192.0.2.5' },
  ]);
});

test('a set found unreadable after its beginning is closed with what came of it, and a full set is wanted', async () => {
  bench.close();
  bench = new Bench({ sliceUrls: 1 });
  bench.provider(7);
  const head = bench.head(7, 3);
  const intake = await bench.intake.begin('u1', head);
  intake.urls([url('a'), url('b')]);
  intake.cut();
  bench.intake.damaged('u1', head.entry, 7);
  assert.equal(bench.value('SELECT fullsetwanted FROM pidb'), 'cache crash');
  assert.equal(setsOf(bench.store.queue).length, 1);
  assert.equal(bench.value('SELECT count(*) FROM qdb'), 2);
});

test('while a full set removes what it did not name, results and sets of others go in between', async () => {
  bench.close();
  bench = new Bench({ sliceUrls: 2 });
  bench.provider(7);
  bench.provider(8);
  const old = Array.from({ length: 20 }, (_, i) => url(`old${i}`));
  await bench.send(7, old);
  for (const { curl } of old) bench.fetch(7, curl);
  await bench.send(8, [url('a')]);
  const intake = await bench.intake.begin('u1', bench.head(7, 1, { set: 'full' }));
  intake.urls([url('new')]);
  const ended = intake.end();
  const left: number[] = [];
  for (let n = 0; n < 5; n++) {
    await new Promise<void>(resolve => setImmediate(resolve));
    if (n === 1) assert.equal(bench.fetch(8, 'a'), 'done');
    else await bench.send(8, [url(`b${n}`)]);
    left.push(Number(bench.value('SELECT count(*) FROM lccurl WHERE pid = 7')));
  }
  assert.ok(
    left.some(rows => rows > 0 && rows < 20),
    String(left),
  );
  assert.deepEqual(await ended, { queued: 1, duplicate: 0, unchanged: 0, deleted: 20 });
  assert.deepEqual(bench.all('SELECT curl FROM lccurl'), [{ curl: absolute('a') }]);
});

/** Sets of one url each that end in the same turn of the event loop. */
async function sendTogether(pids: readonly number[]): Promise<unknown[]> {
  const intakes = await Promise.all(
    pids.map(pid => bench.intake.begin(`u${pid}`, bench.head(pid, 1, { entry: `of-${pid}` }))),
  );
  for (const intake of intakes) intake.urls([url('a')]);
  return Promise.all(intakes.map(intake => intake.end()));
}
const PIDS = [9, 7, 8];

test('small sets that end together share a commit, and each is a set of its own', async () => {
  for (const pid of [8, 9]) bench.provider(pid);
  let commits = 0;
  const transaction = bench.store.transaction.bind(bench.store);
  bench.store.transaction = change => {
    commits++;
    return transaction(change);
  };
  const answers = await sendTogether(PIDS);
  assert.equal(commits, 1);
  assert.deepEqual(
    answers,
    PIDS.map(() => ({ queued: 1, duplicate: 0, unchanged: 0, deleted: 0 })),
  );
  const sets = bench.all('SELECT pid, uns, entry, complete FROM absorbed ORDER BY psetid');
  assert.deepEqual(
    sets,
    PIDS.map(pid => ({ pid, uns: `u${pid}`, entry: `of-${pid}`, complete: 1 })),
  );
  assert.deepEqual(
    bench.sets.map(set => set.pid),
    PIDS,
  );
  assert.equal(bench.value('SELECT min(nurlproc) FROM pidb'), 1);
});

test('of sets that share a commit that fails nothing stays, and each is taken when it comes again', async () => {
  for (const pid of [8, 9]) bench.provider(pid);
  bench.db.exec(`CREATE TEMP TRIGGER no_room BEFORE INSERT ON qpsdb WHEN new.pid = 8
                 BEGIN SELECT RAISE(ABORT, 'no room'); END`);
  const intakes = await Promise.all(
    PIDS.map(pid => bench.intake.begin('u1', bench.head(pid, 1, { entry: `of-${pid}` }))),
  );
  for (const intake of intakes) intake.urls([url('a')]);
  const ends = await Promise.allSettled(intakes.map(intake => intake.end()));
  assert.deepEqual(
    ends.map(end => end.status),
    PIDS.map(() => 'rejected'),
  );
  assert.equal(bench.value('SELECT count(*) FROM absorbed'), 0);
  assert.equal(bench.value('SELECT count(*) FROM qdb'), 0);
  assert.deepEqual(bench.sets, []);
  bench.db.exec('DROP TRIGGER no_room');
  const answers = await sendTogether(PIDS);
  assert.deepEqual(
    answers,
    PIDS.map(() => ({ queued: 1, duplicate: 0, unchanged: 0, deleted: 0 })),
  );
  assert.equal(bench.value('SELECT total(nurlproc) FROM pidb'), 3);
});

test('a set that cannot even begin does not hold up the next one of its provider', async t => {
  const { sets: absorb } = bench.store.absorb;
  const { mock: find } = t.mock.method(absorb, 'find', () => {
    throw new Error('disk I/O error');
  });
  await assert.rejects(bench.intake.begin('u1', bench.head(7, 1)), /disk I\/O error/);
  find.restore();
  assert.equal(bench.intake.open, 0);
  assert.deepEqual(await bench.send(7, [url('a')]), { queued: 1, duplicate: 0, unchanged: 0, deleted: 0 });
});
