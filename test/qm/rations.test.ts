import fc from 'fast-check';
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { fullSetRation, readProvider, type Provider } from '../../src/db/providers/pidb.js';
import { Bench, url } from './support.js';
import { amount } from '../support/long.js';

const PERIOD_MS = 30 * 86_400_000;

let bench: Bench;
beforeEach(() => start(2));
afterEach(() => bench.close());

function start(fullsetsallowed: number): void {
  bench = new Bench();
  bench.db.pragma('synchronous = OFF');
  bench.provider(7, { fullsetsallowed });
}

/** What a UNS says when `waiting` full sets are in its spool. */
const ration = (waiting = 0) =>
  fullSetRation(readProvider(bench.db, 7) as Provider, waiting, bench.clock.nowMs(), PERIOD_MS);
const absorbFull = (more = {}) => bench.send(7, [url('a', { len: '1' })], { set: 'full', ...more });
const want = () => bench.store.transaction(() => bench.store.providers.wantFullSet('operator', 7));

test('an unsolicited full set costs one; all come back when the period is over', async () => {
  assert.deepEqual(ration(), { allowed: 2, wanted: undefined });
  await absorbFull();
  assert.deepEqual(ration(), { allowed: 1, wanted: undefined });
  await absorbFull();
  assert.equal(ration().allowed, 0);
  bench.clock.advance(PERIOD_MS);
  assert.equal(ration().allowed, 0);
  bench.clock.advance(1000);
  assert.equal(ration().allowed, 2);
  await absorbFull();
  assert.equal(ration().allowed, 1);
});

test('the wish stays until a full set is absorbed, and that one costs nothing', async () => {
  want();
  assert.deepEqual(ration(), { allowed: 2, wanted: 'operator' });
  await bench.send(7, [url('a')]);
  await bench.intake.note({ pid: 7, seq: 9, ip: '', errseen: 0 });
  assert.equal(ration().wanted, 'operator');
  await absorbFull();
  assert.deepEqual(ration(), { allowed: 2, wanted: undefined });
});

test('a full set cut off, refused or unreadable leaves the wish', async () => {
  want();
  const head = bench.head(7, 3, { set: 'full' });
  const cut = await bench.intake.begin('u1', head);
  cut.urls([url('a')]);
  cut.cut();
  assert.equal(ration().wanted, 'operator');
  const short = await bench.intake.begin('u1', head);
  short.urls([url('a')]);
  assert.ok('code' in (await short.end()));
  assert.equal(ration().wanted, 'operator');
  bench.intake.damaged('u1', 'e99', 7);
  assert.equal(ration().wanted, 'operator');
});

test('an earlier reason stays', () => {
  want();
  bench.store.transaction(() => bench.store.providers.wantFullSet('cache crash'));
  assert.equal(ration().wanted, 'operator');
});

test('a full set sent again after a crash costs one', async () => {
  const head = bench.head(7, 1, { set: 'full' });
  for (let time = 0; time < 3; time++) {
    const intake = await bench.intake.begin('u1', head);
    intake.urls([url('a')]);
    await intake.end();
    bench.reopen();
  }
  assert.equal(ration().allowed, 1);
});

test('a full set beyond the ration that was accepted is absorbed, not lost', async () => {
  for (let n = 0; n < 3; n++) await absorbFull();
  assert.equal(bench.value('SELECT fullsetsused FROM pidb'), 3);
  assert.deepEqual(ration(), { allowed: 0, wanted: undefined });
  assert.deepEqual(await absorbFull(), { queued: 0, duplicate: 1, unchanged: 0, deleted: 0 });
});

test('what a UNS says while full sets wait is what the Queue Manager counts when it has them', async () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('accept' as const) }),
    fc.record({ do: fc.constant('absorb' as const) }),
    fc.record({ do: fc.constant('want' as const) }),
    fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1, 999, 86_400_000, PERIOD_MS) }),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 3 }),
      fc.array(step, { maxLength: 25 }),
      async (allowed, steps) => {
        bench.close();
        start(allowed);
        let spooled = 0;
        for (const one of steps) {
          switch (one.do) {
            case 'accept': {
              const { allowed: left, wanted } = ration(spooled);
              if (left > 0 || wanted !== undefined) spooled++;
              break;
            }
            case 'absorb': {
              if (spooled === 0) break;
              const said = ration(spooled);
              await absorbFull();
              spooled--;
              const { allowed: left, wanted } = ration(spooled);
              assert.equal(left, said.allowed, 'absorbing what waited changes nothing');
              assert.equal(wanted, undefined, 'the first full set fulfils the wish');
              break;
            }
            case 'want':
              want();
              break;
            case 'wait':
              bench.clock.advance(one.ms);
          }
          assert.ok(
            Number(bench.value('SELECT fullsetsused FROM pidb')) <= allowed,
            'none beyond the ration',
          );
        }
      },
    ),
    { numRuns: amount(20, 100) },
  );
});

test('a clock that was a year ahead does not lock a provider out for that year', async () => {
  const nowMs = bench.clock.nowMs();
  bench.clock.jumpTo(nowMs + 365 * 86_400_000);
  await absorbFull();
  await absorbFull();
  assert.equal(ration().allowed, 0);
  bench.clock.jumpTo(nowMs);
  assert.equal(ration().allowed, 2);
  await absorbFull();
  assert.equal(ration().allowed, 1);
});
