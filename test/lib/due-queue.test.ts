import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { DueQueue } from '../../src/lib/due-queue.js';
import { amount } from '../support/long.js';

it('what is due comes in the order of its time, and nothing before that', () => {
  const event = fc.oneof(fc.nat(50), fc.constant('take' as const));
  fc.assert(
    fc.property(fc.array(event, { maxLength: 100 }), events => {
      const queue = new DueQueue<number>();
      const model: number[] = [];
      let now = 0;
      for (const each of events) {
        if (each === 'take') {
          now += 7;
          const [first] = model.sort((a, b) => a - b);
          const taken = queue.shift(now);
          assert.equal(taken, first !== undefined && first <= now ? model.shift() : undefined);
        } else {
          queue.push(each, each);
          model.push(each);
        }
        assert.equal(queue.size, model.length);
        assert.equal(queue.nextMs, model.length === 0 ? undefined : Math.min(...model));
      }
    }),
    { numRuns: amount(200, 1000) },
  );
});
