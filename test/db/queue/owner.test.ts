import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Bench } from '../../qm/support.js';

test('a place belongs to the provider whose set has it, in however many parts, and between sets to none', () => {
  const bench = new Bench();
  const part = bench.db.prepare('INSERT INTO qpsdb VALUES (?, ?, ?, ?, ?, 0)');
  for (const [psetid, slot, pid, first, last] of [
    [1, -1, 7, 1, 10],
    [1, 3, 7, 1, 10],
    [2, -1, 8, 11, 11],
    [3, 5, 9, 20, 40],
  ])
    part.run(psetid, slot, pid, first, last);
  const owners = [0, 1, 10, 11, 12, 19, 20, 40, 41].map(pos => bench.store.queue.ownerOf(pos));
  assert.deepEqual(owners, [undefined, 7, 7, 8, undefined, undefined, 9, 9, undefined]);
  bench.close();
});
