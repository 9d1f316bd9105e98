/** How SQLite carries out what the Queue Manager asks: in a queue of ten million urls nothing may read all of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QueueStore } from '../../../src/db/queue/store.js';
import { Bench } from '../../qm/support.js';

/** The tables that have a row for each url, or each set. */
const LARGE = /\b(SCAN (qdb|lccurl|qpsdb|absorbed|helddelete)\b(?! USING INDEX absorbed_open)|TEMP B-TREE)/;
/** They begin at a place without saying where they end, and end at the limit only where that is in reach. */
const OPEN = /SEARCH (qdb|lccurl) USING INTEGER PRIMARY KEY \(rowid>\?\)/;
/** Rows of a page only; all rows, when a machine comes with a store for the first time, or a provider has left or moved. */
const ON_PURPOSE =
  /^SELECT DISTINCT pid FROM lccurl|WHERE fetched_machineid = \?|^DELETE FROM qpsdb WHERE (pid = \?|\(psetid, starttimeslot\) IN \(SELECT psetid, starttimeslot FROM qpsdb WHERE pid = \? LIMIT \?\))$/;

test('no statement reads more of the queue or of the content than it asks for', t => {
  const bench = new Bench();
  t.after(() => bench.close());
  const { db } = bench;
  const asked: string[] = [];
  const prepare = db.prepare.bind(db);
  db.prepare = (sql: string) => {
    asked.push(sql);
    return prepare(sql);
  };
  const store = new QueueStore(db, {
    errorsKept: 1,
    nowS: () => 0,
  });
  db.prepare = prepare;
  assert.equal(store.providers.waiting(), 0);
  assert.ok(asked.length > 100);
  const wrong = asked
    .filter(sql => /^\s*(SELECT|UPDATE|DELETE)/.test(sql) && !ON_PURPOSE.test(sql))
    .map(sql => ({ sql, plan: planOf(sql) }))
    .filter(({ sql, plan }) => LARGE.test(plan) || (OPEN.test(plan) && / (psetid|tries) = /.test(sql)));
  assert.deepEqual(wrong, []);

  function planOf(sql: string): string {
    const rows = bench.db.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`);
    const names = [...sql.matchAll(/[$@](\w+)/g)].map(([, name = '']) => name);
    const values = names.length > 0 ? [Object.fromEntries(names.map(name => [name, 1n]))] : [];
    const marks = sql.match(/\?/g)?.length ?? 0;
    return rows
      .all(...values, ...Array<number>(marks).fill(1))
      .map(({ detail }) => detail)
      .join('; ');
  }
});
