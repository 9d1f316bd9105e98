import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CLEAR_KIND } from '../../../src/db/clear/open.js';
import { openOwn } from '../../../src/db/sqlite/own-database.js';
import { DUE_PAGES } from '../../../src/db/clear/soft.js';
import { addTargets, newClearDb } from './support.js';

const page = { url: '/a.html', target: 'us' };

function scene() {
  const db = newClearDb();
  addTargets(db, 'us');
  const due = (nowMs: number) => db.soft.due(nowMs, 9).map(row => row.publishSeq);
  return { db, due };
}

describe('publications', () => {
  it('are due until they are done, and again when the page is published meanwhile', () => {
    const { db, due } = scene();
    const first = db.write(() => db.soft.publish(page, 1));
    assert.deepEqual(due(1), [first]);
    const [row] = db.soft.due(1, 9);
    const second = db.write(() => db.soft.publish(page, 2));
    assert.ok(second > first);
    db.write(() => db.soft.done(row ?? assert.fail(), 3));
    assert.deepEqual([due(3), db.soft.waitingCount()], [[second], 1]);
    const [next] = db.soft.due(3, 9);
    db.write(() => db.soft.done(next ?? assert.fail(), 4));
    assert.deepEqual([due(4), db.soft.waitingCount(), db.soft.get(page)?.doneMs], [[], 0, 4]);
    db.write(() => db.soft.done(row ?? assert.fail(), 5));
    assert.equal(db.soft.get(page)?.doneSeq, second, 'the number never goes back');
  });

  it('that fail keep their time when an older one of the page is done', () => {
    const { db, due } = scene();
    db.write(() => db.soft.publish(page, 1));
    const [older] = db.soft.due(1, 9);
    const second = db.write(() => db.soft.publish(page, 2));
    const [newer] = db.soft.due(2, 9);
    db.write(() => db.soft.failed(newer ?? assert.fail(), 100, 'status 503'));
    db.write(() => db.soft.done(older ?? assert.fail(), 3));
    assert.deepEqual([due(99), due(100)], [[], [second]]);
    assert.deepEqual([db.soft.get(page)?.attempts, db.soft.get(page)?.lastError], [1, 'status 503']);
  });

  it('are read from one on, along their index, however many are under way', () => {
    const { db } = scene();
    const seqs = ['/a', '/b', '/c'].map(url => db.write(() => db.soft.publish({ url, target: 'us' }, 1)));
    const [first] = db.soft.due(1, 1);
    assert.deepEqual([db.soft.waitingCount(), db.soft.waitingCount(2)], [3, 2]);
    assert.deepEqual(
      db.soft.due(1, 9, first).map(row => row.publishSeq),
      seqs.slice(1),
    );
    const raw = openOwn(':memory:', CLEAR_KIND, 0);
    const plan = raw
      .prepare(`EXPLAIN QUERY PLAN ${DUE_PAGES}`)
      .all(0, { nextTryMs: 0, publishSeq: 0 }, 9) as { detail: string }[];
    raw.close();
    assert.equal(plan.length, 1);
    assert.match(plan[0]?.detail ?? '', /^SEARCH page_publish_info USING INDEX page_publish_info_due/);
  });

  it('of a target that was removed are passed over', () => {
    const { db, due } = scene();
    db.targets.remove('us');
    db.write(() => db.soft.publish(page, 1));
    assert.deepEqual([due(1), db.soft.get(page)], [[], undefined]);
  });

  it('are made again where there is one that is later than a number', () => {
    const { db, due } = scene();
    const again = (afterSeq: number) => db.write(() => db.soft.publishAgain(page, afterSeq, 2));
    assert.deepEqual([again(0), due(2)], [false, []], 'never published');
    const first = db.write(() => db.soft.publish({ ...page, contentId: 'a' }, 1));
    const [row] = db.soft.due(1, 9);
    db.write(() => db.soft.done(row ?? assert.fail(), 1));
    assert.deepEqual([again(first), due(2)], [false, []]);
    assert.deepEqual([again(first - 1), due(2), db.soft.get(page)?.contentId], [true, [first + 1], 'a']);
  });

  it('that fail wait, but not those that come after them', () => {
    const { db, due } = scene();
    const first = db.write(() => db.soft.publish(page, 1));
    const [row] = db.soft.due(1, 9);
    db.write(() => db.soft.failed(row ?? assert.fail(), 100, 'status 503'));
    assert.deepEqual([due(99), due(100)], [[], [first]]);
    assert.deepEqual([db.soft.get(page)?.attempts, db.soft.get(page)?.lastError], [1, 'status 503']);
    const second = db.write(() => db.soft.publish(page, 2));
    assert.deepEqual(due(2), [second]);
    db.write(() => db.soft.failed(row ?? assert.fail(), 1000, 'late'));
    assert.deepEqual(due(2), [second], 'what failed was the one before');
  });
});

it('a publication that is postponed is due at its time, and a later one at once', () => {
  const { db, due } = scene();
  const first = db.write(() => db.soft.publish({ ...page, contentId: 'a' }, 1));
  const [row] = db.soft.due(1, 9);
  db.write(() => db.soft.postpone(row ?? assert.fail(), 50));
  assert.deepEqual([due(49), due(50)], [[], [first]]);
  const second = db.write(() => db.soft.publish(page, 2));
  assert.deepEqual([due(2), db.soft.get(page)?.attempts], [[second], 0]);
  assert.equal(db.soft.get(page)?.contentId, 'a', 'that of the last one that had any');
});

it('rules are put, changed and removed', () => {
  const { db } = scene();
  const rule = { ...page, isPattern: 0, enabled: 1, minIntervalMs: 0 } as const;
  db.soft.putRule(rule);
  db.soft.putRule({ ...rule, enabled: 0, minIntervalMs: 500 });
  assert.deepEqual(db.soft.rules(), [{ ...rule, enabled: 0, minIntervalMs: 500 }]);
  assert.deepEqual([db.soft.removeRule(page), db.soft.removeRule(page)], [true, false]);
});

it('names with a timestamp are noted until they are forgotten, and timestamps only grow', () => {
  const { db } = scene();
  const names = ['/a-1.html', '/a-2.html'].map(tsUrl => ({ tsUrl, ...page }));
  db.write(() => names.forEach(name => db.soft.noteGenerated(name, 1)));
  assert.deepEqual(db.soft.generated(), names);
  assert.deepEqual(db.soft.generated(names[0]), names.slice(1));
  assert.deepEqual(db.soft.generated(undefined, 0), []);
  assert.deepEqual(db.soft.namesOf(page, 9), ['/a-1.html', '/a-2.html']);
  db.write(() => db.soft.noteGenerated({ tsUrl: '/b-3.html', url: '/b.html', target: 'removed' }, 3));
  assert.deepEqual(db.soft.namesOf({ url: '/b.html', target: 'removed' }, 9), []);
  db.write(() => db.soft.forgetGenerated(names[0] ?? assert.fail()));
  assert.deepEqual(db.soft.generated(), names.slice(1));
  const stamps = [100, 100, 50, 200].map(least => db.write(() => db.numbers.raise('last_stamp', least)));
  assert.deepEqual(stamps, [100, 101, 102, 200]);
});
