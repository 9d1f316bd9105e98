/** Rows that come back into their sets when their hours begin, against an array that says what may be taken. */
import fc from 'fast-check';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProviderOrder, type RowSource } from '../../../src/qm/schedule/url-order.js';
import type { OrderedSet } from '../../../src/qm/schedule/progress.js';
import { amount } from '../../support/long.js';

interface Row {
  pos: number;
  psetid: number;
  tries: number;
  /** It waits for a slot. */
  away: boolean;
}

class Rows implements RowSource<OrderedSet, Row> {
  rows: Row[];
  constructor(rows: Row[]) {
    this.rows = rows;
  }
  /** Their entries stay, though they are finished. */
  readonly stored = new Set<number>();
  sets(_pid: number, afterPsetid: number, limit: number): OrderedSet[] {
    return SETS.filter(psetid => psetid > afterPsetid && this.stored.has(psetid))
      .map(set)
      .slice(0, limit);
  }
  countSets(pid: number, afterPsetid: number, most: number) {
    return this.sets(pid, afterPsetid, most).length;
  }
  here(psetid: number): Row[] {
    return this.rows.filter(row => row.psetid === psetid && !row.away);
  }
  next(set: OrderedSet, afterPos: number, limit: number) {
    return this.here(set.psetid)
      .filter(row => row.pos > afterPos && row.tries === 0)
      .slice(0, limit);
  }
  at(pos: number) {
    return this.rows.find(row => row.pos === pos);
  }
  leastTries(psetid: number) {
    const tries = this.here(psetid).flatMap(row => (row.tries > 0 ? [row.tries] : []));
    return tries.length === 0 ? undefined : Math.min(...tries);
  }
  bad(psetid: number, tries: number, afterPos: number, limit: number) {
    return this.here(psetid)
      .filter(row => row.tries === tries && row.pos > afterPos)
      .slice(0, limit);
  }
  count(set: OrderedSet, afterPos: number, most: number) {
    return this.next(set, afterPos, most).length;
  }
  hasRows(set: OrderedSet) {
    return this.here(set.psetid).length > 0;
  }
}

const ROWS_PER_SET = 10;
const SETS = [1, 2, 3];
/** From one place that is taken to the next: sets of few places, and of many. */
let stride = 1;
const placeOf = (psetid: number, i: number) => psetid * 10_000 + 1 + i * stride;
const set = (psetid: number): OrderedSet => ({
  psetid,
  class: 0,
  slot: -1,
  firstpos: placeOf(psetid, 0),
  lastpos: placeOf(psetid, ROWS_PER_SET - 1),
});

const step = fc.oneof(
  fc.record({ do: fc.constant('take' as const), limit: fc.integer({ min: 1, max: 5 }) }),
  fc.record({
    do: fc.constant('end' as const),
    which: fc.nat(20),
    how: fc.constantFrom('done', 'done', 'again', 'bad', 'away'),
  }),
  fc.record({ do: fc.constant('join' as const), psetid: fc.constantFrom(...SETS), few: fc.boolean() }),
);

test('rows that come back are taken once, in their order, whatever is out, failed or read already', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(fc.boolean(), { minLength: ROWS_PER_SET, maxLength: ROWS_PER_SET }), {
        minLength: 3,
        maxLength: 3,
      }),
      fc.array(step, { maxLength: 80 }),
      fc.integer({ min: 1, max: 3 }),
      fc.boolean(),
      fc.constantFrom(1, 200),
      (away, steps, untouched, areStored, gap) => {
        stride = gap;
        const rows = new Rows(
          away.flatMap((flags, index) =>
            flags.map((isAway, i) => ({
              pos: placeOf(index + 1, i),
              psetid: index + 1,
              tries: 0,
              away: isAway,
            })),
          ),
        );
        const order = new ProviderOrder<OrderedSet, Row>(rows, {
          pid: 1,
          untouched,
          asleep: 100,
          areStored,
        });
        for (const psetid of SETS) {
          if (!rows.hasRows(set(psetid))) continue;
          rows.stored.add(psetid);
          if (!areStored) order.add(set(psetid));
        }
        const out: Row[] = [];
        const take = (limit: number): Row[] => {
          const taken = order.take(limit, 0).map(({ row }) => row);
          for (const row of taken) {
            assert.ok(!row.away && rows.rows.includes(row), `${row.pos} is not there`);
            assert.ok(!out.includes(row), `${row.pos} is taken twice`);
            out.push(row);
          }
          return taken;
        };
        const end = (which: number, how: string) => {
          const [row] = out.splice(which % Math.max(1, out.length), 1);
          if (row === undefined) return;
          const its = set(row.psetid);
          if (how === 'again') return order.again(its, row.pos);
          if (how === 'bad' && row.tries < 2) return order.bad(its, row.pos, ++row.tries, 0);
          if (how === 'away') row.away = true;
          else rows.rows = rows.rows.filter(one => one !== row);
          order.done(its, row.pos);
          order.finished();
        };
        const join = (psetid: number, few: boolean) => {
          const back = rows.rows.filter(row => row.psetid === psetid && row.away);
          const [first] = back;
          if (first === undefined) return;
          for (const row of back) row.away = false;
          rows.stored.add(psetid);
          if (few)
            order.join(
              set(psetid),
              back.map(row => row.pos),
            );
          else order.rewind(set(psetid), first.pos);
        };
        for (const one of steps) {
          if (one.do === 'take') take(one.limit);
          else if (one.do === 'end') end(one.which, one.how);
          else join(one.psetid, one.few);
        }
        for (let round = 0; rows.rows.length > 0 || out.length > 0; round++) {
          assert.ok(round < 50, `left behind: ${JSON.stringify(rows.rows)}`);
          for (const psetid of SETS) join(psetid, round % 2 === 0);
          const fresh = take(100).filter(row => row.tries === 0 && round === 0);
          assert.deepEqual(
            fresh.map(row => row.pos),
            fresh.map(row => row.pos).sort((a, b) => a - b),
            'in the order of sets and places',
          );
          while (out.length > 0) end(0, 'done');
          order.finished();
        }
        assert.equal(order.hasSets, false);
      },
    ),
    { numRuns: amount(100, 500), includeErrorInReport: true },
  );
});

test('a url that failed stays behind the others of its set when it comes back from its hours', () => {
  stride = 1;
  const places = [0, 1, 2].map(i => placeOf(1, i));
  const rows = new Rows(places.map(pos => ({ pos, psetid: 1, tries: 0, away: false })));
  const order = new ProviderOrder(rows, { pid: 1, untouched: 2, asleep: 2, areStored: false });
  const take = (limit: number) => order.take(limit, 0).map(({ row }) => row.pos);
  order.add({ ...set(1), lastpos: places[2] ?? 0 });
  const [first = 0, second, third] = places;
  assert.deepEqual(take(1), [first]);
  const row = rows.at(first);
  assert.ok(row);
  row.tries = 1;
  order.bad(set(1), first, 1, 0);
  order.join(set(1), [first]);
  assert.deepEqual(take(1), [second]);
  assert.deepEqual(take(3), [third, first]);
});

test('rows of a set that is still being taken are taken as they come: after all were, out, or done', () => {
  const set: OrderedSet = { psetid: 1, class: 0, slot: -1, firstpos: 1, lastpos: 20_000 };
  const rows = new Rows([]);
  const order = new ProviderOrder(rows, { pid: 1, untouched: 2, asleep: 2, areStored: false });
  const come = (...places: number[]) => {
    for (const pos of places) rows.rows.push({ pos, psetid: 1, tries: 0, away: false });
    order.add(set, places[0]);
  };
  const take = (limit: number) => order.take(limit, 0).map(({ row }) => row.pos);
  come(1, 2, 3);
  assert.deepEqual(take(10), [1, 2, 3]);
  come(4, 5);
  assert.deepEqual(take(1), [4]);
  come(6);
  assert.deepEqual(take(10), [5, 6], 'none that is out comes again');
  for (const pos of [1, 2, 3, 4, 5, 6]) order.done(set, pos);
  rows.rows = [];
  assert.deepEqual(order.finished(), [set]);
  come(7);
  assert.deepEqual(take(10), [7]);
});
