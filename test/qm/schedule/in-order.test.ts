import fc from 'fast-check';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InOrder } from '../../../src/qm/schedule/in-order.js';

test('nobody waits longer because of the grid, nor for being beyond the horizon', () => {
  const table = new InOrder<string>();
  table.set('soon', 10);
  table.set('later in its cell', 6001);
  table.set('days ahead', 200_000_001);
  assert.deepEqual(table.takeUpTo(9), []);
  assert.deepEqual([...table.keys()][1], 'later in its cell');
  assert.deepEqual(table.takeUpTo(10), ['soon']);
  assert.deepEqual(table.takeUpTo(6000), []);
  assert.equal(table.first()?.at, 6001);
  assert.deepEqual(table.takeUpTo(6001), ['later in its cell']);
  assert.deepEqual(table.takeUpTo(200_000_000), []);
  assert.equal(table.first()?.at, 200_000_001);
  assert.deepEqual(table.takeUpTo(200_000_001), ['days ahead']);
  assert.equal(table.first()?.at, undefined);
});

test('a delay replaces the one before, and can be taken back', () => {
  const table = new InOrder<number>();
  table.set(1, 5000);
  table.set(1, 100);
  table.set(2, 100);
  table.delete(2);
  assert.equal(table.at(1), 100);
  assert.ok(table.has(1) && !table.has(2));
  assert.deepEqual(table.takeUpTo(5000), [1]);
  assert.equal(table.size, 0);
});

test('over any delays and steps everybody is named once, in time and in order, and the next look is not too late', () => {
  const time = fc.oneof(fc.nat(20_000), fc.nat(10_000_000), fc.nat(1_000_000_000));
  const step = fc.oneof(
    fc.record({ do: fc.constant('set' as const), key: fc.nat(9), inMs: time }),
    fc.record({ do: fc.constant('delete' as const), key: fc.nat(9) }),
    fc.record({ do: fc.constant('pass' as const), ms: time }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), steps => {
      const table = new InOrder<number>();
      const model = new Map<number, number>();
      let nowMs = 0;
      for (const one of steps) {
        assert.equal(table.first()?.at, model.size === 0 ? undefined : Math.min(...model.values()));
        if (one.do === 'set') {
          table.set(one.key, nowMs + one.inMs);
          model.set(one.key, nowMs + one.inMs);
        } else if (one.do === 'delete') {
          table.delete(one.key);
          model.delete(one.key);
        } else {
          nowMs += one.ms;
          const due = [...model].filter(([, dueMs]) => dueMs <= nowMs);
          const named = table.takeUpTo(nowMs);
          assert.deepEqual(
            named.map(key => model.get(key)),
            due.map(([, dueMs]) => dueMs).sort((a, b) => a - b),
          );
          for (const [key] of due) model.delete(key);
        }
        assert.equal(table.size, model.size);
        const earliest = Math.min(...model.values());
        assert.ok((table.first()?.at ?? Infinity) <= earliest);
        assert.equal(table.first()?.at === undefined, model.size === 0);
      }
      // Looking whenever it is worth it finds everybody at his time.
      for (let nextMs = table.first()?.at; nextMs !== undefined; nextMs = table.first()?.at) {
        nowMs = Math.max(nowMs, nextMs);
        for (const key of table.takeUpTo(nowMs)) {
          assert.ok((model.get(key) ?? Infinity) <= nowMs);
          model.delete(key);
        }
        assert.ok([...model.values()].every(dueMs => dueMs > nowMs));
      }
      assert.equal(model.size, 0);
    }),
  );
});
