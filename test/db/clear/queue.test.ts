import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { NewRequest, RequestKey } from '../../../src/db/clear/queue.js';
import { newClearDb } from './support.js';
import { amount } from '../../support/long.js';

const key = (contentId: string): RequestKey => ({ contentId, contentType: 'page', target: 'all' });
const request = (contentId: string, force = false): NewRequest => ({ ...key(contentId), force, source: '' });

describe('the queue', () => {
  it('gives requests in the order of coming, with ids that never come back', () => {
    const db = newClearDb();
    const ids = db.write(() => ['a', 'b', 'c'].map(id => db.queue.add(request(id), 7)));
    assert.deepEqual(
      db.queue.after(0, 2).map(row => [row.id, row.contentId, row.enqueuedMs]),
      [
        [ids[0], 'a', 7],
        [ids[1], 'b', 7],
      ],
    );
    db.write(() => db.queue.done(key('c'), Infinity));
    const [next] = db.write(() => [db.queue.add(request('d'), 8)]);
    assert.ok((next ?? 0) > (ids[2] ?? 0));
    assert.deepEqual([db.queue.count(2), db.queue.count(10), db.queue.count(10, ids[0])], [2, 3, 2]);
    assert.equal(db.queue.oldestMs(), 7);
  });

  it('moves what is rejected aside, in one transaction', () => {
    const db = newClearDb();
    const id = db.write(() => db.queue.add(request('../x'), 1));
    assert.throws(() =>
      db.write(() => {
        db.queue.reject(id, 'bad-content-id', 2);
        throw new Error('cut off');
      }),
    );
    assert.equal(db.queue.count(9), 1);
    assert.deepEqual(
      db.write(() => [db.queue.reject(id, 'bad-content-id', 2), db.queue.reject(id, '', 2)]),
      [true, false],
    );
    assert.equal(db.queue.count(9), 0);
    const rejected = { id, ...key('../x'), error: 'bad-content-id', atMs: 2 };
    assert.deepEqual(db.queue.rejections(0, 9), [rejected]);
    assert.equal(db.queue.forgetRejectedBefore(2), 0);
    assert.deepEqual(db.queue.dropRejected(id), rejected);
    assert.equal(db.queue.dropRejected(id), undefined);
  });

  it('removes with a piece of work what was there when it began, and nothing that came later: a model', () => {
    const id = fc.constantFrom('a', 'b', 'c');
    const event = fc.oneof(
      fc.record({ do: fc.constant('add' as const), id, force: fc.boolean() }),
      fc.record({ do: fc.constant('begin' as const), id }),
      fc.record({ do: fc.constant('end' as const), id, paper: fc.boolean() }),
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), events => {
        const db = newClearDb(':memory:');
        let model: { at: number; id: string; force: boolean }[] = [];
        const begun = new Map<string, { mark: number; at: number }>();
        events.forEach((each, at) => {
          const mine = model.filter(row => row.id === each.id);
          switch (each.do) {
            case 'add':
              db.write(() => db.queue.add(request(each.id, each.force), at));
              model.push({ at, id: each.id, force: each.force });
              return;
            case 'begin': {
              const covered = db.queue.covered(key(each.id));
              assert.equal(covered === undefined, mine.length === 0);
              if (covered === undefined) return;
              assert.equal(
                covered.force,
                mine.some(row => row.force),
              );
              assert.equal(db.queue.first(key(each.id))?.enqueuedMs, mine[0]?.at);
              begun.set(each.id, { mark: covered.mark, at });
              return;
            }
            case 'end': {
              const work = begun.get(each.id);
              if (work === undefined) return;
              const gone = mine.filter(row => each.paper || row.at < work.at);
              const removed = db.write(() => db.queue.done(key(each.id), each.paper ? Infinity : work.mark));
              assert.equal(removed, gone.length);
              model = model.filter(row => !gone.includes(row));
              begun.delete(each.id);
            }
          }
        });
        assert.deepEqual(
          db.queue.after(0, 1000).map(row => [row.contentId, row.enqueuedMs, row.force === 1]),
          model.map(row => [row.id, row.at, row.force]),
        );
      }),
      { numRuns: amount(30, 100) },
    );
  });
});
