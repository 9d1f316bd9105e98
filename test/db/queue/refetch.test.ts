import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import type { Spoilt } from '../../../src/db/queue/refetch.js';
import { absolute, Bench, url } from '../../qm/support.js';

let bench: Bench;
beforeEach(async () => {
  bench = new Bench();
  for (const pid of [7, 8]) {
    bench.provider(pid);
    await bench.send(pid, [url(`a${pid}`)]);
    assert.equal(bench.fetch(pid, `a${pid}`), 'done');
  }
});
afterEach(() => bench.close());

function spoilt(pid: number): Spoilt[] {
  const rows = bench.all<{ id: number }>(`SELECT id FROM lccurl WHERE pid = ${pid}`);
  return rows.flatMap(({ id }) => {
    const row = bench.store.content.row(id);
    return row === undefined ? [] : [{ row, file: 'freed' as const }];
  });
}
const again = (pid: number) => bench.store.transaction(() => bench.store.refetch.again(spoilt(pid), 0));
const waiting = () => bench.all('SELECT pid, curl FROM qdb ORDER BY pid');

test('what was to be fetched again when its transaction failed does not get into the next one', () => {
  bench.db.exec("CREATE TEMP TRIGGER full BEFORE INSERT ON queued BEGIN SELECT RAISE(ABORT, 'no room'); END");
  assert.throws(() => again(7), /no room/);
  bench.db.exec('DROP TRIGGER full');
  assert.equal(again(8).length, 1);
  assert.deepEqual(waiting(), [{ pid: 8, curl: absolute('a8') }]);
  assert.equal(again(7).length, 1);
  assert.deepEqual(waiting(), [
    { pid: 7, curl: absolute('a7') },
    { pid: 8, curl: absolute('a8') },
  ]);
});
