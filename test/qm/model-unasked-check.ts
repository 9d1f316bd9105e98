/** Holds the database against the model of what nobody announced. */
import assert from 'node:assert/strict';
import { disagreement } from '../../src/db/queue/sets-from-urls.js';
import type { UnaskedModel } from './model-unasked.js';
import type { OneDatabase } from './one-database.js';
import { BASE } from './world.js';

/** @param arrived files of results that are committed */
export function check(database: OneDatabase, model: UnaskedModel, arrived: ReadonlySet<string>): void {
  const read = (sql: string) => database.read(sql);
  const path = (column: string) => `substr(${column}, ${BASE.length + 1})`;
  assert.deepEqual(
    read(
      `SELECT pos, ${path('curl')}, mimetype, psetid, coalesce(named, psetid), gen, op, tries,
         iif(op, flags & 1, 0), iif(op, iif(flags & 32, 1, iif(flags & 4, 2, iif(flags & 8, 3, iif(flags & 16, 4, 0)))), 0), iif(op, hops, NULL)
       FROM qdb ORDER BY pos`,
    ),
    model.rows
      .toSorted((a, b) => a.place - b.place)
      .map(({ place, curl, type, set, named, gen, op, tries, ifabsent, kind, hops }) => {
        const rest = op === 1 ? [ifabsent ? 1 : 0, kind, hops] : [0, 0, null];
        return [place, curl, type, set, named, gen, op, tries, ...rest];
      }),
    'the queue',
  );
  assert.deepEqual(
    read(
      `SELECT ${path('curl')}, mimetype, served, hops, len, fetched_fileid, psetid, doubted FROM lccurl ORDER BY curl, mimetype`,
    ),
    model.held
      .toSorted((a, b) => (`${a.curl} ${a.type}` < `${b.curl} ${b.type}` ? -1 : 1))
      .map(({ curl, type, served, hops, belief, file, named }) => {
        return [curl, type, served, hops, belief.len, file, named, belief.doubted ? 1 : 0];
      }),
    'what is held',
  );
  assert.deepEqual(
    read(
      `SELECT ${path('curl')}, mimetype, coalesce(n, 0), coalesce(x, 0), coalesce(fails, 0), coalesce(failcode, 0)
       FROM lccurl LEFT JOIN visit USING (id) ORDER BY curl, mimetype`,
    ),
    model.held
      .toSorted((a, b) => (`${a.curl} ${a.type}` < `${b.curl} ${b.type}` ? -1 : 1))
      .map(({ curl, type, visits, changes, fails, failed }) => [curl, type, visits, changes, fails, failed]),
    'how often pages were visited, and had changed',
  );
  assert.deepEqual(
    read('SELECT coalesce(sum(fresh), 0), coalesce(sum(removed), 0), coalesce(sum(keptback), 0) FROM truth'),
    [[model.counts.fresh, model.counts.removed, 0]],
    'what came and what went, by the days of the provider',
  );
  assert.deepEqual(
    read('SELECT id FROM visit EXCEPT SELECT id FROM lccurl'),
    [],
    'visits go with the content',
  );
  checkKnown(model, read(`SELECT ${path('curl')}, code, times, hops, asked, until FROM known ORDER BY curl`));
  const errors = read('SELECT code, attrs FROM pierr ORDER BY errseq').map(row => {
    const [code, attrs] = row as [number, string];
    const [, curl = '', type = ''] = / curl="([^"]*)" mimetype="([^"]*)"/.exec(attrs) ?? [];
    return { code, key: `${curl.slice(BASE.length)} ${type}` };
  });
  assert.deepEqual(errors, model.owner.errors, 'what the owner is told');
  const space = model.held.reduce((sum, { belief }) => sum + belief.len, 0);
  assert.deepEqual(
    read('SELECT filesused, spaceused, nurlproc, nurlerrs FROM pidb'),
    [[model.held.length, space, model.rows.length, model.owner.nurlerrs]],
    'the counters of the provider',
  );
  const [numbers = 0, distinct, last] = read(
    `SELECT count(*), count(DISTINCT seq), (SELECT value FROM counter WHERE name = 'seq')
     FROM (SELECT seq FROM lccurl UNION ALL SELECT seq FROM tombstone)`,
  ).flat();
  assert.equal(numbers, distinct, 'no number of the change sequence is given twice');
  assert.equal(last, model.changes, 'numbers of the change sequence');
  const files = read(
    'SELECT fetched_fileid FROM lccurl UNION ALL SELECT fileid FROM freed',
  ).flat() as string[];
  assert.deepEqual(files.toSorted(), [...arrived].toSorted(), 'a file is pointed to once, or freed once');
  assert.equal(disagreement(database.db), undefined, 'sets and urls agree');
}

/**
 * What nobody announced delays nothing of its owner, whose last url had an answer.
 * @param waiting what the owner announced and is neither fetched nor has failed, while nothing is fetched
 */
export function checkUndelayed(database: OneDatabase, waiting: readonly number[]): void {
  const backoffs = database.read('SELECT backoffs, backoffuntil FROM pidb');
  assert.deepEqual(backoffs, [[0, 0]], 'no answer to what nobody announced has its owner wait');
  assert.deepEqual(waiting, [], 'what an owner announced waits while nothing is fetched');
}

/** Times as they were written, within two seconds. */
function checkKnown(model: UnaskedModel, rows: unknown[]): void {
  const real = rows as [string, number, number, number | null, number, number][];
  const known = [...model.known].toSorted(([a], [b]) => (a < b ? -1 : 1));
  assert.deepEqual(
    real.map(row => row.slice(0, 4)),
    known.map(([curl, { code, times, hops }]) => [curl, code, times, hops]),
    'what is known not to be had',
  );
  known.forEach(([curl, { askedS, untilS }], index) => {
    const [, , , , asked = 0, until = 0] = real[index] ?? [];
    assert.ok(Math.abs(asked - askedS) <= 2, `${curl} was asked at ${asked}, not ${askedS}`);
    assert.ok(Math.abs(until - untilS) <= 2, `${curl} is known until ${until}, not ${untilS}`);
  });
}
