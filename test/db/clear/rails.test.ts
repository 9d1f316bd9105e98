import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { addGroup, addTargets, newClearDb, railOf } from './support.js';

function scene() {
  const db = newClearDb();
  addTargets(db, 'us', 'eu');
  addGroup(db, 'all', 'us', 'eu');
  return db;
}

describe('rails', () => {
  it('belong to an elementary target and have a name and a url of their own', () => {
    const { rails } = scene();
    rails.add(railOf('r1', 'us'), 1000);
    assert.deepEqual(rails.get('r1'), {
      ...railOf('r1', 'us'),
      state: 'UP',
      changeTimeMs: 1000,
      changedBy: 'admin',
      reason: '',
    });
    assert.throws(() => rails.add(railOf('r1', 'us', { url: 'http://x/' }), 1), /there is a rail r1 already/);
    assert.throws(
      () => rails.add(railOf('r2', 'us', { url: 'http://127.0.0.1/r1/' }), 1),
      /is rail r1 already; another site on that server needs another name or address of it in --url/,
    );
    assert.throws(() => rails.add(railOf('r2', 'all'), 1), /is a group/);
    assert.throws(() => rails.add(railOf('r2', 'none'), 1), /no target none/);
    rails.add(railOf('r2', 'us'), 1);
    assert.throws(() => rails.change('r2', { url: 'http://127.0.0.1/r1/' }), /is rail r1 already/);
    rails.change('r2', { target: 'eu', workers: 9 });
    assert.deepEqual(
      [rails.get('r2')?.target, rails.get('r2')?.workers, rails.get('r2')?.state],
      ['eu', 9, 'UP'],
    );
    assert.throws(() => rails.change('r3', {}), /there is no rail r3/);
  });

  it('go with their state and their backlog', () => {
    const db = scene();
    db.rails.add(railOf('r1', 'us'), 1);
    const parked = {
      url: '/a',
      op: 'D',
      contentId: '',
      bodySha: null,
      attempts: 0,
      nextMs: 0,
      dead: 0,
      error: '',
    } as const;
    db.write(() => db.backlog.park({ rail: 'r1', ...parked }, 1));
    db.rails.remove('r1');
    assert.deepEqual([db.rails.all(), db.backlog.counts()], [[], []]);
    assert.throws(() => db.rails.remove('r1'), /there is no rail r1/);
    db.write(() =>
      assert.equal(db.backlog.park({ rail: 'r1', ...parked }, 1), undefined, 'of a rail that is gone'),
    );
  });

  it('are changed by the administrator always later than before, by a daemon only when nothing as late is there', () => {
    const { rails } = scene();
    rails.add(railOf('r1', 'us'), 1000);
    const state = () => {
      const { state: name, changeTimeMs, changedBy } = rails.get('r1') ?? assert.fail();
      return `${name} ${changeTimeMs} ${changedBy}`;
    };
    assert.ok(!rails.setDown('r1', 1000, 'refused'));
    assert.ok(rails.setDown('r1', 1001, 'refused'));
    assert.equal(state(), 'DOWN 1001 cachebot');
    assert.equal(rails.get('r1')?.reason, 'refused');
    rails.setByAdmin('r1', 'UP', 500);
    assert.equal(state(), 'UP 1002 admin', 'the clock was put back');
    rails.setByAdmin('r1', 'DOWN', 5000, 'for a new disk');
    assert.equal(state(), 'DOWN 5000 admin');
    assert.throws(() => rails.setByAdmin('r9', 'UP', 1), /there is no rail r9/);
  });
});
