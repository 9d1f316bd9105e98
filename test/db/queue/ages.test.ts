import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Db } from '../../../src/db/sqlite/open.js';
import { AGE_GROUPS, AGE_MINUTES, readAges } from '../../../src/db/queue/ages.js';
import { Bench } from '../../qm/support.js';
import { amount } from '../../support/long.js';

const NOW_S = 10_000_000;

/** Which of the places of a set hold a url, in how many parts it waits, and for how long it has. */
interface Drawn {
  pid: number;
  rows: boolean[];
  parts: number;
  minutes: number;
}

const drawn: fc.Arbitrary<Drawn> = fc.record({
  pid: fc.integer({ min: 7, max: 9 }),
  rows: fc.array(fc.boolean(), { minLength: 1, maxLength: 6 }),
  parts: fc.integer({ min: 1, max: 3 }),
  minutes: fc.constantFrom(0, 4, 5, 10, 70, 1279, 1280, 90_000),
});

function queue(db: Db, sets: readonly Drawn[]): void {
  db.exec('DELETE FROM queued; DELETE FROM qpsdb');
  let pos = 0;
  const row = db.prepare("INSERT INTO qdb(pos, pid, curl, mimetype, psetid) VALUES (?, ?, ?, 'a/b', ?)");
  const part = db.prepare('INSERT INTO qpsdb VALUES (?, ?, ?, ?, ?, ?, 0)');
  sets.forEach(({ pid, rows, parts, minutes }, index) => {
    for (let slot = -1; slot < parts - 1; slot++)
      part.run(index + 1, slot, pid, pos + 1, pos + rows.length, NOW_S - minutes * 60);
    for (const isThere of rows) {
      pos++;
      if (isThere) row.run(pos, pid, `u${pos}`, index + 1);
    }
  });
}

/** By provider and age: urls counted, and places of sets that are too large for what may still be counted. */
function told(sets: readonly Drawn[], limits: { rows: number; sets: number }): Map<number, number[][]> {
  const found = new Map<number, number[][]>();
  let toCount = limits.rows;
  sets.forEach(({ pid, rows, minutes }, index) => {
    const [counted = [], guessed = []] =
      found.get(pid) ?? [0, 0].map(() => Array<number>(AGE_GROUPS).fill(0));
    found.set(pid, [counted, guessed]);
    const group = AGE_MINUTES.filter(each => minutes >= each).length;
    const between = rows.lastIndexOf(true) - rows.indexOf(true) + 1;
    const places = index >= limits.sets ? rows.length : rows.includes(true) ? between : 0;
    const isCounted = places <= toCount;
    if (isCounted) toCount -= places;
    const to = isCounted ? counted : guessed;
    to[group] = (to[group] ?? 0) + (isCounted ? rows.filter(Boolean).length : places);
  });
  return found;
}

test('ages are told in the order of sets, however many are looked up and counted', () => {
  const bench = new Bench();
  const limits = fc.record({ rows: fc.nat(40), sets: fc.nat(12) });
  fc.assert(
    fc.property(fc.array(drawn, { maxLength: 25 }), limits, (sets, limit) => {
      bench.store.transaction(() => queue(bench.db, sets));
      const expected = told(sets, limit);
      // Of so many the rest is divided so that each of the estimates tells what was guessed.
      const waiting = new Map(
        [...expected].map(([pid, groups]) => [pid, groups.flat().reduce((sum, urls) => sum + urls, 0)]),
      );
      const ages = readAges(bench.db, NOW_S, waiting, limit);
      for (const [pid, [counted = [], guessed = []]] of expected) {
        const exact = guessed.every(urls => urls === 0);
        const sums = counted.map((urls, group) => urls + (guessed[group] ?? 0));
        assert.deepEqual(ages.get(pid), { ages: sums, exact });
      }
      assert.equal(ages.size, expected.size);
    }),
    { numRuns: amount(60, 300) },
  );
  bench.close();
});
