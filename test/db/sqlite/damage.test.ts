import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, test } from 'node:test';
import { FsckLook } from '../../../src/db/fsck-look.js';
import { CacheReader } from '../../../src/db/cache/read.js';
import { isDamage, openDatabase } from '../../../src/db/sqlite/open.js';
import { readProvider } from '../../../src/db/providers/pidb.js';
import { PidbReader } from '../../../src/db/providers/pidb-reader.js';
import { openOrSalvage } from '../../../src/db/sqlite/salvage.js';
import { suspectDatabase } from '../../../src/db/sqlite/suspicion.js';
import type { LccError } from '../../../src/lib/errors.js';
import { silentLog } from '../../../src/lib/log.js';
import { Bench, setsOf, url } from '../../qm/support.js';
import { spoil } from '../../support/damage.js';

const PAGE_BYTES = 4096;
/** Size of the header of a table's page; the places where its rows begin follow it. */
const HEADER_BYTES = 8;

let bench: Bench;
beforeEach(async () => {
  bench = new Bench();
  bench.provider(7);
  const names = ['a', 'b', 'c'];
  await bench.send(
    7,
    names.map(name => url(name)),
  );
  for (const name of names) bench.fetch(7, name, 'held');
  await bench.send(
    7,
    names.map(name => url(name, { len: '9' })),
  );
});
afterEach(() => bench.close());

/** The last row of a table of one page says it is number 1. */
function misnumberLast(table: string): void {
  const page = Number(bench.value(`SELECT rootpage FROM sqlite_schema WHERE name = '${table}'`));
  bench.db.pragma('wal_checkpoint(TRUNCATE)');
  bench.db.close();
  const bytes = readFileSync(bench.path);
  const header = (page - 1) * PAGE_BYTES;
  const rows = bytes.readUInt16BE(header + 3);
  const last = header + bytes.readUInt16BE(header + HEADER_BYTES + 2 * (rows - 1));
  // Its length goes before its number: two bytes, or one.
  bytes[last + ((bytes[last] ?? 0) > 127 ? 2 : 1)] = 1;
  writeFileSync(bench.path, bytes);
  bench.db = openDatabase(bench.path);
}

test('looking through content for its files comes to an end, whatever number a row says it has', () => {
  misnumberLast('lccurl');
  const numbers = bench.all('SELECT rowid AS n FROM lccurl NOT INDEXED').map(row => Number(row['n']));
  assert.notDeepEqual(
    numbers,
    numbers.toSorted((a, b) => a - b),
  );
  let steps = 0;
  for (const _found of new FsckLook(bench.db).content(2)) assert.ok(++steps < 100, 'comes to no end');
});

const rows = () => setsOf(bench.store.queue).flatMap(set => bench.store.queue.next(set, 0, 10));
const shown = () => {
  const reader = new CacheReader(bench.path, 'm1');
  try {
    return [...reader.rows({ sides: ['held', 'gone'] }, ['curl', 'md5', 'len', 'localfileid'])];
  } finally {
    reader.close();
  }
};
const held = () => bench.store.content.find(7, 'http://127.0.0.1/b', 'text/html');
const B = "WHERE curl LIKE '%/b'";
const N = "WHERE name LIKE '%/b'";

for (const [what, sql, read] of [
  ['a url that waits, its name a blob', `UPDATE queued SET name = CAST(name AS BLOB) ${N}`, rows],
  ['a url that waits, its length a text', `UPDATE queued SET len = 'long' ${N}`, rows],
  ['a url that waits, its time no time', `UPDATE queued SET mtime = 1e18 ${N}`, rows],
  ['content, its md5 a blob', `UPDATE lccurl SET md5 = CAST(md5 AS BLOB) ${B}`, held],
  ['content, its file a blob', `UPDATE lccurl SET fetched_fileid = x'2e2e' ${B}`, held],
  ['content, its length a fraction', `UPDATE lccurl SET len = 0.5 ${B}`, held],
  ['content that is shown, its md5 a blob', `UPDATE lccurl SET md5 = CAST(md5 AS BLOB) ${B}`, shown],
  ['a provider, its hours a blob', "UPDATE pidb SET timeofday = x'30'", () => bench.store.providers.get(7)],
  ['a provider, its quota a text', "UPDATE pidb SET filesmax = 'many'", () => readProvider(bench.db, 7)],
] as const)
  test(`a row whose values are not of their columns' types is refused as damage and not carried over: ${what}`, () => {
    bench.db.close();
    spoil(bench.path, sql);
    bench.reopen();
    assert.throws(read, isDamage);
    assert.notEqual(
      bench.db.pragma('integrity_check(1)', { simple: true }),
      'ok',
      'found by the check of a start',
    );
    const count = () =>
      ['qdb', 'lccurl', 'pidb'].map(table => Number(bench.value(`SELECT count(*) FROM ${table}`)));
    const before = count();
    bench.db.close();
    suspectDatabase(bench.path);
    openOrSalvage(bench.path, 0, silentLog).close();
    bench.reopen();
    assert.equal(bench.db.pragma('integrity_check(1)', { simple: true }), 'ok');
    assert.equal(
      count().reduce((sum, rowsOf) => sum + rowsOf),
      before.reduce((sum, rowsOf) => sum + rowsOf) - 1,
    );
    read();
  });

test('what a UNS cannot read of a provider ends a login, nothing else', () => {
  bench.db.close();
  spoil(bench.path, "UPDATE pidb SET password = x'00'");
  bench.reopen();
  const reader = new PidbReader(bench.path);
  assert.throws(
    () => reader.provider(7),
    (error: LccError) => error.code === 'data.malformed' && /run lccfsck --repair/.test(error.message),
  );
  assert.notEqual(reader.latestSet(7), undefined, 'it is not removed');
  reader.close();
});
