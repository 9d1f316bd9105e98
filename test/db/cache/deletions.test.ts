import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { damagedDeletions } from '../../../src/db/damage.js';
import { purgedOf } from '../../../src/db/counters.js';
import {
  DELETION_SUM_TEXT,
  deletionSum,
  isSoundText,
  OLD_PATH_SUM_TEXT,
  oldPathSum,
  type SummedDeletion,
  type SummedOldPath,
} from '../../../src/db/sums.js';
import { ManualClock } from '../../../src/lib/clock.js';
import { lookingThrough, Sums } from '../../../src/qm/housekeeping/sums.js';
import { Bench, url } from '../../qm/support.js';

describe('deletions', () => {
  let bench: Bench;
  beforeEach(async () => {
    bench = new Bench();
    bench.provider(7);
    await bench.send(7, [url('a', { burl: 'shown' }), url('ü€𝄞'), url('moved', { burl: 'x' }), url('kept')]);
    for (const name of ['a', 'ü€𝄞', 'moved', 'kept']) bench.fetch(7, name, 'old');
    await bench.send(7, [url('a', { op: 'delete' }), url('ü€𝄞', { op: 'delete' })]);
    await bench.send(7, [url('moved', { burl: '' })]);
    bench.fetch(7, 'moved', 'new');
  });
  afterEach(() => bench.close());
  const damaged = () => [...damagedDeletions(bench.db)].flat();

  it('bear sums of all they say, and SQL puts together the same text', () => {
    for (const [table, text, sumOf] of [
      ['tombstone', DELETION_SUM_TEXT, (row: object) => deletionSum(row as SummedDeletion)],
      ['oldpath', OLD_PATH_SUM_TEXT, (row: object) => oldPathSum(row as SummedOldPath)],
    ] as const) {
      const rows = bench.all<{ seq: number; sum: number }>(`SELECT * FROM ${table}`);
      assert.equal(rows.length, 3);
      for (const row of rows) assert.equal(row.sum, sumOf(row));
      for (const row of bench.all<{ text: string; sum: number }>(`SELECT sum, ${text} AS text FROM ${table}`))
        assert.ok(isSoundText(row.text, row.sum));
      for (const column of Object.keys(rows[0] ?? {}).filter(name => name !== 'sum')) {
        bench.db.exec(`SAVEPOINT s; UPDATE ${table} SET ${column} = coalesce(${column}, 0) || '1'`);
        assert.equal(damaged().length, 3, `${table}.${column}`);
        bench.db.exec('ROLLBACK TO s; RELEASE s');
      }
    }
    assert.deepEqual(damaged(), []);
  });

  it('with a text that damage has made a blob are not believed', () => {
    for (const [table, columns] of [
      ['tombstone', ['curl', 'mimetype', 'burl']],
      ['oldpath', ['mimetype', 'machineid', 'fileid']],
    ] as const)
      for (const column of columns) {
        bench.db.exec(`SAVEPOINT s; UPDATE ${table} SET ${column} = CAST(${column} AS BLOB)`);
        const blobs = bench.value(`SELECT count(*) FROM ${table} WHERE typeof(${column}) = 'blob'`);
        assert.ok(blobs !== 0 && damaged().length === blobs, `${table}.${column}`);
        bench.db.exec('ROLLBACK TO s; RELEASE s');
      }
  });

  it('without a sum are believed where they are from before there were any, nowhere else', () => {
    bench.db.exec('UPDATE tombstone SET sum = NULL; UPDATE oldpath SET sum = NULL');
    assert.equal(damaged().length, 6);
    bench.db.exec("UPDATE counter SET value = 1000 WHERE name = 'unsummed'");
    assert.deepEqual(damaged(), []);
    bench.db.exec("UPDATE tombstone SET curl = 5, deleted_time = 'x'");
    assert.equal(damaged().length, 3);
  });

  it('that are damaged go, whatever number they say they have, and every cursor there is begins anew', () => {
    bench.db.exec('UPDATE tombstone SET seq = -seq WHERE seq = (SELECT min(seq) FROM tombstone)');
    const told: string[] = [];
    const chore = new Sums(new ManualClock(), [
      lookingThrough(
        () => bench.store.deletions.damaged(),
        found => {
          bench.store.transaction(() => bench.store.deletions.drop(found));
          told.push(...found.map(({ table, seq }) => `${table} ${seq}`));
        },
      ),
    ]);
    const last = bench.value("SELECT value FROM counter WHERE name = 'seq'");
    while (chore.run() < 3_600_000);
    assert.deepEqual(told, ['tombstone -5']);
    assert.ok(Number(purgedOf(bench.db)) > Number(last));
    assert.equal(bench.value("SELECT value FROM counter WHERE name = 'seq'"), purgedOf(bench.db));
    assert.equal(bench.value('SELECT count(*) FROM tombstone'), 2);
    while (chore.run() < 3_600_000);
    assert.equal(told.length, 1);
    // What is forgotten later on has a lower number.
    bench.store.transaction(() => bench.store.deletions.forget(Number.MAX_SAFE_INTEGER, 10));
    assert.ok(Number(purgedOf(bench.db)) > Number(last));
  });
});
