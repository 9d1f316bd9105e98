import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Fifo } from '../../src/lib/fifo.js';

describe('what goes in first', () => {
  it('comes out first, whatever is put in, taken and thrown out meanwhile', () => {
    const event = fc.oneof(
      fc.record({ put: fc.integer({ min: 1, max: 3000 }) }),
      fc.record({ take: fc.integer({ min: 1, max: 3000 }) }),
      fc.record({ keep: fc.integer({ min: 1, max: 5 }) }),
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 20 }), events => {
        const fifo = new Fifo<number>();
        let expected: number[] = [];
        let next = 0;
        for (const event of events) {
          if ('put' in event) {
            for (let i = 0; i < event.put; i++) {
              fifo.push(next);
              expected.push(next++);
            }
          } else if ('take' in event) {
            const taken = Array.from({ length: event.take }, () => fifo.shift());
            const first = expected.splice(0, event.take);
            assert.deepEqual(
              taken,
              Array.from({ length: event.take }, (_, i) => first[i]),
            );
          } else {
            const wanted = (item: number) => item % event.keep === 0;
            fifo.retain(wanted);
            expected = expected.filter(wanted);
          }
          assert.equal(fifo.length, expected.length);
          assert.equal(fifo.peek(), expected[0]);
          assert.deepEqual(fifo.toArray(), expected);
        }
      }),
      { numRuns: 50 },
    );
  });
});
