import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, test } from 'node:test';
import { Audit } from '../../src/db/audit.js';
import { damagedContent, damagedWaiting } from '../../src/db/damage.js';
import { openDatabase, type Db } from '../../src/db/open.js';
import { Bench, url } from '../qm/support.js';

const PAGE_BYTES = 4096;
/** Of the header of a page of a table, behind which is where each of its rows begins. */
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

for (const [what, table, look] of [
  ['urls that wait', 'qdb', damagedWaiting],
  ['content', 'lccurl', damagedContent],
  ['content for its files', 'lccurl', (db: Db) => new Audit(db).content(2)],
] as const) {
  test(`looking through ${what} comes to an end, whatever number a row says it has`, () => {
    misnumberLast(table);
    const numbers = bench.all(`SELECT rowid AS n FROM ${table} NOT INDEXED`).map(row => Number(row['n']));
    assert.notDeepEqual(
      numbers,
      numbers.toSorted((a, b) => a - b),
    );
    let steps = 0;
    for (const _found of look(bench.db)) assert.ok(++steps < 100, 'comes to no end');
  });
}
