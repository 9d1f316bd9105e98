import assert from 'node:assert/strict';
import { test } from 'node:test';
import { beginAnew } from '../../../src/db/sqlite/restored.js';
import { NO_PASSWORD } from '../../../src/lib/password.js';
import { Bench, url } from '../../qm/support.js';

test('in an older copy that begins anew no error has a number that one had which was received since', () => {
  const bench = new Bench();
  bench.provider(7);
  const { store, db } = bench;
  const add = () => store.transaction(() => store.errors.add(7, url('x'), 404, 'not found'));
  const copied = Date.now() - 3_600_000;
  db.exec(`UPDATE sqlite_sequence SET seq = ${copied} WHERE name = 'pierr'`);
  for (let i = 0; i < 5; i++) add();
  const received = Number(bench.value('SELECT max(errseq) FROM pierr'));
  assert.equal(received, copied + 5);
  // As the copy had it.
  db.exec(`DELETE FROM pierr; UPDATE sqlite_sequence SET seq = ${copied} WHERE name = 'pierr'`);
  store.transaction(() => beginAnew(db, 'restored from a backup'));
  add();
  assert.ok(Number(bench.value('SELECT errseq FROM pierr ORDER BY errseq')) > received);
  bench.close();
});

test('of an older copy providers are asked for a full set and told why; one that is crawled, and cannot send one, is not', () => {
  const bench = new Bench();
  bench.provider(7);
  bench.provider(8, { spider: 1, password: NO_PASSWORD });
  bench.store.transaction(() => bench.store.providers.wantFullSet('cache crash', 7));
  bench.store.transaction(() => beginAnew(bench.db, 'restored from a backup'));
  assert.deepEqual(bench.all('SELECT pid, fullsetwanted AS why FROM pidb ORDER BY pid'), [
    { pid: 7, why: 'restored from a backup' },
    { pid: 8, why: null },
  ]);
  bench.close();
});
