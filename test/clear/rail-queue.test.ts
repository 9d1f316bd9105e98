import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { RailQueue } from '../../src/clear/rails/rail-queue.js';
import { TokenBucket } from '../../src/clear/rails/token-bucket.js';
import type { PageTask, RailUnit } from '../../src/clear/rails/unit.js';
import { amount } from '../support/long.js';

const clear = (url: string): PageTask => ({ url, contentId: '', op: 'D' });
const put = (url: string, seq: number): PageTask => ({
  url,
  contentId: '',
  op: 'P',
  body: { bytes: { bytes: Buffer.of(seq) }, sha: String(seq), seq },
});

describe('the line of a rail', () => {
  it('has a page once, for all that wait for it', () => {
    const queue = new RailQueue('r1');
    const heard: string[] = [];
    queue.add(clear('/a'), how => heard.push(`first ${how}`));
    queue.add(clear('/b'));
    const unit = queue.add(clear('/a'), how => heard.push(`second ${how}`));
    assert.equal(queue.waitingCount, 2);
    assert.equal(queue.next(0), unit);
    queue.done(unit);
    unit.settle('done');
    unit.settle('done');
    assert.deepEqual(heard, ['first done', 'second done']);
    assert.equal(queue.next(0)?.url, '/b');
    assert.equal(queue.next(0), undefined);
  });

  it('never has two requests for a page under way', () => {
    const queue = new RailQueue('r1');
    const first = queue.add(clear('/a'));
    queue.next(0);
    const second = queue.add(clear('/a'));
    assert.notEqual(second, first);
    assert.deepEqual([second.state, queue.next(0)], ['blocked', undefined]);
    queue.done(first);
    assert.equal(queue.next(0), second);
  });

  it('has one that failed wait for its time, or go with a later one', () => {
    const queue = new RailQueue('r1');
    const first = queue.add(clear('/a'));
    queue.next(0);
    queue.rest(first, 100);
    assert.deepEqual([queue.next(99), queue.nextDueMs], [undefined, 100]);
    assert.equal(queue.next(100), first);
    const heard: string[] = [];
    first.waiters.push(how => heard.push(`first ${how}`));
    first.tries = 3;
    const later = queue.add(clear('/a'), how => heard.push(`later ${how}`));
    queue.rest(first, 500);
    assert.deepEqual([first.state, later.state, later.tries], ['merged', 'waiting', 3]);
    assert.equal(queue.next(100), later);
    queue.done(later);
    later.settle('done');
    assert.deepEqual(heard, ['first done', 'later done']);
  });

  it('sends a page that is wanted while it is to be sent once more from the beginning', () => {
    const queue = new RailQueue('r1');
    const unit = queue.add(clear('/a'));
    queue.next(0);
    unit.sent = 1;
    queue.rest(unit, 5000, 'rebounding');
    assert.equal(queue.add(clear('/a')), unit);
    assert.deepEqual([unit.sent, unit.state], [0, 'waiting']);
    assert.equal(queue.next(1), unit);
  });

  it('has the newest of the pages that are to be put, and clearing after all of them', () => {
    const queue = new RailQueue('r1');
    const unit = queue.add(put('/a', 2));
    queue.add(put('/a', 1));
    assert.equal(unit.task.body?.seq, 2);
    queue.add(put('/a', 3));
    assert.equal(unit.task.body?.seq, 3);
    queue.add(clear('/a'));
    assert.equal(unit.task.op, 'D');
    queue.add(put('/a', 4));
    assert.equal(unit.task.op, 'P');
  });

  it('gives an entry of the backlog to what is to be done with the page anyway', () => {
    const queue = new RailQueue('r1');
    const unit = queue.add(clear('/a'));
    assert.equal(queue.addEntry(clear('/a'), { seq: 7, attempts: 10, firstMs: 0 }), unit);
    assert.deepEqual(unit.entry, { seq: 7, attempts: 10, firstMs: 0 });
  });

  it('can be looked at without taking from it', () => {
    const queue = new RailQueue('r1');
    const [a, b] = [queue.add(clear('/a')), queue.add(clear('/b'))];
    assert.deepEqual([queue.peek(0), queue.peek(0)], [a, a]);
    queue.park(a);
    assert.deepEqual([queue.peek(0), queue.next(0), queue.peek(0)], [b, b, undefined]);
  });

  it('loses nobody that waits, and has no page twice under way, whatever happens: a model', () => {
    const url = fc.constantFrom('/a', '/b', '/c');
    const event = fc.oneof(
      fc.record({ do: fc.constant('add' as const), url }),
      fc.record({ do: fc.constant('next' as const), url }),
      fc.record({ do: fc.constantFrom('done', 'again', 'rest', 'rebound', 'park'), url }),
      fc.record({ do: fc.constant('down' as const), url }),
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 80 }), events => {
        const queue = new RailQueue('r1');
        const running = new Map<string, RailUnit>();
        /** Of each that waits: after how many beginnings of its page it came, and with how many it was told. */
        const waiting = new Map<number, { url: string; begun: number }>();
        const begun = new Map<string, number>();
        const settle = (unit: RailUnit, how: 'done' | 'parked') => unit.settle(how);
        let now = 0;
        events.forEach(({ url, ...each }, at) => {
          now += 10;
          const unit = running.get(url);
          if (each.do === 'add') {
            waiting.set(at, { url, begun: begun.get(url) ?? 0 });
            queue.add(clear(url), how => {
              const wanted = waiting.get(at);
              assert.ok(wanted !== undefined, 'told twice');
              // Done counts only with a request that began after it was wanted.
              if (how === 'done') assert.ok((begun.get(url) ?? 0) > wanted.begun, 'done before it was sent');
              waiting.delete(at);
            });
          } else if (each.do === 'next') {
            const next = queue.next(now);
            if (next === undefined) return;
            assert.ok(!running.has(next.url), 'two at a time');
            running.set(next.url, next);
            begun.set(next.url, (begun.get(next.url) ?? 0) + 1);
          } else if (each.do === 'down') {
            for (const open of queue.open()) {
              queue.park(open);
              settle(open, 'parked');
            }
          } else if (unit !== undefined) {
            running.delete(url);
            if (each.do === 'done') queue.done(unit);
            else if (each.do === 'park') queue.park(unit);
            else if (each.do === 'again') queue.again(unit);
            else queue.rest(unit, now + 25, each.do === 'rebound' ? 'rebounding' : 'resting');
            if (each.do === 'done') settle(unit, 'done');
            if (each.do === 'park') settle(unit, 'parked');
          }
          assert.equal(queue.executingCount, running.size);
        });
        // At the end all is sent, and all have been told.
        for (const unit of running.values()) {
          queue.done(unit);
          settle(unit, 'done');
        }
        for (let unit = queue.next(1e9); unit !== undefined; unit = queue.next(1e9)) {
          begun.set(unit.url, (begun.get(unit.url) ?? 0) + 1);
          queue.done(unit);
          settle(unit, 'done');
        }
        assert.deepEqual([[...waiting.values()], queue.waitingCount, queue.executingCount], [[], 0, 0]);
      }),
      { numRuns: amount(200, 1000) },
    );
  });
});

it('a rail that limits its requests gets as many a second, and some at once', () => {
  const bucket = new TokenBucket({ perS: 10, burst: 3 }, 0);
  assert.deepEqual([bucket.take(0), bucket.take(0), bucket.take(0), bucket.take(0)], [0, 0, 0, 100]);
  assert.deepEqual([bucket.take(50), bucket.take(100), bucket.take(100)], [50, 0, 100]);
  assert.deepEqual(
    [1, 2, 3, 4].map(() => bucket.take(10_000)),
    [0, 0, 0, 100],
  );
});
