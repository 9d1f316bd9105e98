import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { BotLanes, type BotLane } from '../../src/bot/lanes.js';
import { amount } from '../support/long.js';

describe('the lanes of a robot', () => {
  it('begins the next of a lane that ends at once, but not before lanes that wait for a slot', () => {
    const lanes = new BotLanes<string>(1);
    const [a, b] = [lanes.create(), lanes.create()];
    for (const request of ['a1', 'a2', 'a3']) lanes.add(a, request);
    assert.equal(lanes.next()?.request, 'a1');
    assert.equal(lanes.next(), undefined);
    assert.equal(lanes.end(a), true);
    assert.equal(lanes.next()?.request, 'a2');
    lanes.add(b, 'b1');
    lanes.end(a);
    assert.equal(lanes.next()?.request, 'b1');
    assert.equal(lanes.end(b), false);
    assert.equal(lanes.next()?.request, 'a3');
  });

  it('keeps order, slots and counts, whatever comes, ends, is dropped or taken back', () => {
    const event = fc.record({
      what: fc.constantFrom('add', 'add', 'add', 'end', 'end', 'park', 'drop', 'withdraw'),
      pick: fc.nat(1000),
    });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3 }), fc.array(event, { maxLength: 100 }), (slots, events) => {
        const lanes = new BotLanes<number>(slots);
        const all = Array.from({ length: 4 }, () => lanes.create());
        const waiting = new Map<BotLane<number>, number[]>(all.map(lane => [lane, []]));
        const active: BotLane<number>[] = [];
        let parked: BotLane<number>[] = [];
        let added = 0;
        for (const { what, pick } of events) {
          const lane = ['end', 'park'].includes(what)
            ? active[pick % Math.max(1, active.length)]
            : all[pick % 4];
          if (lane === undefined) continue;
          if (what === 'add') {
            lanes.add(lane, ++added);
            waiting.get(lane)?.push(added);
          } else if (what === 'end') {
            active.splice(active.indexOf(lane), 1);
            parked = parked.filter(other => other !== lane);
            assert.equal(lanes.end(lane), waiting.get(lane)?.length !== 0);
          } else if (what === 'park') {
            lanes.park(lane);
            if (parked.length < slots && !parked.includes(lane)) parked.push(lane);
          } else if (what === 'withdraw') {
            assert.deepEqual(lanes.withdraw(lane), waiting.get(lane));
            assert.equal(lanes.isActive(lane), active.includes(lane));
            waiting.set(lane, []);
          } else {
            const unwanted = (request: number) => request % 3 === pick % 3;
            let dropped = 0;
            for (const [lane, requests] of waiting) {
              const kept = requests.filter(request => !unwanted(request));
              dropped += requests.length - kept.length;
              waiting.set(lane, kept);
            }
            assert.equal(lanes.drop(unwanted), dropped);
          }
          for (let begun = lanes.next(); begun !== undefined; begun = lanes.next()) {
            assert.ok(!active.includes(begun.lane), 'two of one lane at once');
            assert.equal(begun.request, waiting.get(begun.lane)?.shift(), 'out of order');
            active.push(begun.lane);
          }
          const left = [...waiting.values()].reduce((sum, requests) => sum + requests.length, 0);
          const inSlots = active.length - parked.length;
          assert.deepEqual([lanes.active, lanes.parked, lanes.waiting], [inSlots, parked.length, left]);
          const idle = all.filter(lane => !active.includes(lane) && waiting.get(lane)?.length !== 0);
          assert.ok(inSlots === slots || idle.length === 0, 'a slot is free and a lane waits');
          assert.ok(inSlots <= slots && parked.length <= slots, 'more than the slots');
        }
      }),
      { numRuns: amount(100, 300) },
    );
  });
});
