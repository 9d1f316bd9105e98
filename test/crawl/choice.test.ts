/** Which pages a scan asks for: compared with ranking all of them, and in simulated years. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Choice, type ScannedRow, gainOf, pooledRate, rateOf, type Visits } from '../../src/crawl/choice.js';
import { meanFreshness } from './simulation.js';
import { longIt } from '../support/long.js';

const DAY_S = 86_400;
const NOW_S = 2_000_000_000;

const visits = fc
  .record({ n: fc.nat(15), x: fc.nat(15), days: fc.integer({ min: 1, max: 300 }) })
  .map(({ n, x, days }): Visits =>
    n === 0 ? { n: 0, x: 0, t: 0 } : { n, x: Math.min(x, n), t: days * DAY_S },
  );
const rows = fc
  .array(fc.tuple(visits, fc.integer({ min: -100, max: 100 * DAY_S })), { maxLength: 60 })
  .map(all => all.map(([visit, ageS], id): ScannedRow => ({ id, checkedS: NOW_S - ageS, ...visit })));

/** What was noted while the clock was ahead was so long enough ago. */
const ageOf = (checkedS: number) => (checkedS > NOW_S ? 3600 : NOW_S - checkedS);

function ranked(all: readonly ScannedRow[], most: number, waiting: ReadonlySet<number>): number[] {
  const sum = { n: 0, x: 0, t: 0 };
  for (const { n, x, t } of all) {
    sum.n += n;
    sum.x += x;
    sum.t += t;
  }
  return all
    .filter(({ id, checkedS }) => {
      const ageS = ageOf(checkedS);
      return !waiting.has(id) && ageS >= 3600 && ageS <= 90 * DAY_S;
    })
    .map(row => ({ id: row.id, worth: gainOf(rateOf(row) ?? pooledRate(sum), ageOf(row.checkedS)) }))
    .toSorted((a, b) => b.worth - a.worth || a.id - b.id)
    .slice(0, most)
    .map(({ id }) => id);
}

describe('a scan', () => {
  it('chooses what a ranking of all pages has at its head, and all that are older than 90 days', () => {
    fc.assert(
      fc.property(rows, fc.nat(20), fc.uniqueArray(fc.nat(60)), (all, most, some) => {
        const waiting = new Set(some);
        const choice = new Choice(most, NOW_S, id => !waiting.has(id));
        const overdue = all.filter(row => choice.add(row)).map(({ id }) => id);
        assert.deepEqual(choice.chosen(), ranked(all, most, waiting));
        assert.deepEqual(
          overdue,
          all
            .filter(({ id, checkedS }) => NOW_S - checkedS > 90 * DAY_S && !waiting.has(id))
            .map(({ id }) => id),
        );
      }),
    );
  });

  it('asks first for what was not found, when it may be asked for again; for other failures by what they gain', () => {
    const aged = { checkedS: NOW_S - 2 * DAY_S, n: 4, x: 2, t: 8 * DAY_S };
    const choice = new Choice(3, NOW_S, () => true);
    for (const row of [
      { id: 1, ...aged },
      { id: 2, ...aged, retryS: NOW_S + 1 },
      { id: 3, ...aged, retryS: NOW_S, isSecondLook: true },
      { id: 4, ...aged, checkedS: NOW_S - 86_400, retryS: NOW_S },
      { id: 5, ...aged, checkedS: NOW_S - 7200 },
    ])
      assert.ok(!choice.add(row), 'nothing is that old');
    assert.deepEqual(choice.chosen(), [3, 1, 4]);
  });

  it('leaves alone what changes faster than it can be asked for', () => {
    const hourly = rateOf({ n: 10, x: 10, t: 10 * DAY_S }) ?? 0;
    const weekly = rateOf({ n: 10, x: 3, t: 20 * DAY_S }) ?? 0;
    assert.ok(gainOf(hourly, 5 * DAY_S) < gainOf(weekly, 5 * DAY_S));
  });

  it('passes over nothing because of a clock that was ahead when it was asked for', () => {
    const choice = new Choice(9, NOW_S, () => true);
    for (const [id, aheadS] of [7200, 1400 * DAY_S].entries()) {
      const checkedS = NOW_S + aheadS;
      const second = { id: id + 10, checkedS, retryS: checkedS + 3600, isSecondLook: true, n: 0, x: 0, t: 0 };
      for (const row of [{ id, checkedS, n: 3, x: 1, t: 9 * DAY_S }, second])
        assert.ok(!choice.add(row), 'it is not old');
    }
    assert.deepEqual(
      [...choice.chosen()].toSorted((a, b) => a - b),
      [0, 1, 10, 11],
    );
  });

  it('asks again for what never changed, and takes a clock that was put back for no age', () => {
    assert.ok((rateOf({ n: 16, x: 0, t: 100 * DAY_S }) ?? 0) > 0);
    assert.equal(gainOf(1e-6, -5), 0);
    assert.equal(rateOf({ n: 0, x: 0, t: 0 }), undefined);
    assert.equal(pooledRate({ n: 0, x: 0, t: 0 }), 1 / (7 * DAY_S));
  });

  it('has a gain that grows with age without a jump where it is reckoned otherwise', () => {
    let last = 0;
    for (let ageS = 1; ageS < 1e7; ageS *= 1.01) {
      const gain = gainOf(1e-6, ageS);
      assert.ok(gain >= last, `${ageS} s`);
      last = gain;
    }
  });

  longIt('keeps more of a site fresh than equal intervals, and than the most overdue first', async () => {
    const fresh = meanFreshness('gain');
    const equal = meanFreshness('equal');
    const overdue = meanFreshness('overdue');
    assert.ok(fresh > equal + 0.015, `${fresh} fresh, ${equal} with equal intervals`);
    assert.ok(equal > overdue + 0.1, `${equal} with equal intervals, ${overdue} with the most overdue first`);
  });
});
