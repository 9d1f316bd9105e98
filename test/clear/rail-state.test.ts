import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Lag, Slowness } from '../../src/clear/slow-or-delayed.js';
import { RailState } from '../../src/clear/rail-state.js';

const LIMITS = { suspectMs: 200, hungAfter: 3 };
const newState = (state: 'UP' | 'DOWN' = 'UP', changeTimeMs = 100) =>
  new RailState({ state, changeTimeMs }, LIMITS);

describe('a rail', () => {
  it('goes down when two tries to connect fail, the second after a while', () => {
    const rail = newState();
    assert.equal(rail.unreachable(1000, 1003), 'suspect');
    assert.equal(rail.probeAtMs, 1203);
    assert.equal(rail.unreachable(1001, 1004), undefined, 'was under way already');
    assert.equal(rail.unreachable(1203, 1204), 'down');
    assert.equal(rail.unreachable(1300, 1301), undefined);
  });

  it('is beyond suspicion when anything is answered', () => {
    const rail = newState();
    rail.unreachable(1000, 1003);
    rail.answered();
    assert.equal(rail.name, 'up');
    assert.equal(rail.unreachable(1300, 1303), 'suspect');
  });

  it('goes down when requests in a row are not answered in time', () => {
    const rail = newState();
    assert.deepEqual([rail.unanswered(), rail.unanswered()], [undefined, undefined]);
    rail.answered();
    assert.deepEqual(
      [rail.unanswered(), rail.unanswered(), rail.unanswered()],
      [undefined, undefined, 'down'],
    );
    assert.equal(rail.unanswered(), undefined);
    assert.equal(rail.refresh({ state: 'UP', changeTimeMs: 101 }), 'up');
    assert.equal(rail.unanswered(), undefined, 'counted from the beginning');
  });

  it('goes up by the administrator alone', () => {
    const rail = newState('DOWN');
    rail.answered();
    assert.equal(rail.name, 'down');
    assert.equal(rail.refresh({ state: 'UP', changeTimeMs: 101 }), 'up');
  });

  it('takes a stored change when it is strictly later than the last: the rule, word by word', () => {
    const stored = fc.record({
      state: fc.constantFrom('UP' as const, 'DOWN' as const),
      changeTimeMs: fc.nat(6),
    });
    fc.assert(
      fc.property(stored, fc.array(stored, { maxLength: 20 }), (first, rows) => {
        const rail = new RailState(first, LIMITS);
        const model = { isDown: first.state === 'DOWN', changed: first.changeTimeMs };
        for (const row of rows) {
          const before = model.changed < row.changeTimeMs;
          let expected: 'up' | 'down' | undefined;
          if (row.state === 'DOWN' && !model.isDown && before) expected = 'down';
          if (row.state === 'UP' && model.isDown && before) expected = 'up';
          assert.equal(rail.refresh(row), expected);
          if (expected !== undefined)
            Object.assign(model, { isDown: expected === 'down', changed: row.changeTimeMs });
          assert.deepEqual([rail.name === 'down', rail.changedMs], [model.isDown, model.changed]);
        }
      }),
    );
  });

  it('that is found down gives way to what was stored as late', () => {
    const rail = newState();
    rail.unreachable(0, 0);
    rail.unreachable(200, 201);
    rail.noted(500);
    assert.equal(rail.refresh({ state: 'UP', changeTimeMs: 500 }), undefined);
    rail.gaveWay(500);
    assert.equal(rail.refresh({ state: 'UP', changeTimeMs: 500 }), 'up');
  });
});

it('SLOW begins when the mean of a full window is above the limit, and ends below four fifths of it', () => {
  const slowness = new Slowness(4, 1000);
  const add = (...all: number[]) => all.map(ms => slowness.add(ms)).filter(change => change !== undefined);
  assert.equal(slowness.meanMs, undefined);
  assert.deepEqual(add(5000, 5000, 5000), [], 'the window is not full');
  assert.equal(slowness.meanMs, 5000);
  assert.deepEqual(add(5000), ['begins']);
  assert.deepEqual(add(800, 800, 800, 801), [], 'not below four fifths');
  assert.deepEqual(add(796), ['ends']);
  assert.deepEqual(add(1000, 1000, 1000, 1000), [], 'not above the limit');
  assert.deepEqual(add(1001), ['begins']);
});

it('DELAYED begins when more waits than for the best of the target by the limit, and ends below half of that', () => {
  const delay = new Lag(1000);
  assert.deepEqual([delay.look(1010, 10), delay.look(1011, 10)], [undefined, 'begins']);
  assert.deepEqual([delay.look(510, 10), delay.look(509, 10), delay.isDelayed], [undefined, 'ends', false]);
  delay.look(5000, 0);
  assert.equal(delay.look(5000, undefined), 'ends', 'one alone is behind nobody');
  assert.equal(delay.look(5000, undefined), undefined);
});
