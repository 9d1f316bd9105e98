import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { disagreement } from '../../../src/db/queue/sets-from-urls.js';
import { messageOf } from '../../../src/lib/errors.js';
import { silentLog } from '../../../src/lib/log.js';
import { SetPlaces } from '../../../src/qm/housekeeping/set-places.js';
import { Bench, setsOf, url } from '../support.js';

const SETS = 2500;

let bench: Bench;
let failures: string[];
let errors: unknown[];

beforeEach(async () => {
  bench = new Bench();
  failures = [];
  errors = [];
  bench.provider(7);
  bench.db.pragma('synchronous = OFF');
  for (let n = 0; n < SETS; n++) await bench.send(7, [url(`${n}`)]);
});
afterEach(() => bench.close());

const places = (startPages: number) =>
  new SetPlaces({
    db: bench.db,
    log: { ...silentLog, error: (_what, fields) => errors.push(fields) },
    fail: error => failures.push(messageOf(error)),
    startPages,
  });

/** Runs until the round is over. @returns pages */
function round(chore: SetPlaces): number {
  for (let pages = 1; ; pages++) if (chore.run() > 1000) return pages;
}

test('of thousands of sets the first are looked at before anything is fetched, the others a page at a time', () => {
  const chore = places(2);
  chore.begin();
  assert.deepEqual([round(chore), failures], [2, []]);
  bench.db.exec('DELETE FROM qpsdb WHERE psetid = 1000');
  places(2).begin();
  assert.equal(disagreement(bench.db), undefined);
  assert.equal(setsOf(bench.store.queue).length, SETS);
});

test('what is found later ends the Queue Manager, and the next one finds the sets again', () => {
  bench.db.exec('DELETE FROM qpsdb WHERE psetid = 2300');
  const chore = places(2);
  chore.begin();
  assert.equal(round(chore), 1);
  assert.match(failures.join(), /the url at 2300 is of no set/);
  places(0).begin();
  assert.equal(disagreement(bench.db), undefined);
  failures = [];
  assert.deepEqual([round(places(0)), failures], [4, []]);
});

test('what telling anew does not mend does not end one Queue Manager after the other', () => {
  // The row claims to be of a set with places elsewhere: that set then begins within many others.
  bench.db.exec('UPDATE queued SET psetid = 10 WHERE pos = 2300');
  const ended = [1, 2, 3, 4, 5].map(() => {
    const before = failures.length;
    const chore = places(0);
    chore.begin();
    round(chore);
    round(chore);
    return failures.length > before;
  });
  assert.deepEqual(ended, [true, true, false, false, false]);
  assert.match(failures.at(-1) ?? '', /set 11 begins within set 10/);
  assert.equal(errors.length, 3);
});
