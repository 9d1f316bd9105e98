import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RequestIntake } from '../../src/clear/intake/request-intake.js';
import { ManualClock } from '../support/manual-clock.js';
import { addTargets, newClearDb } from '../db/clear/support.js';

const resolve = { utf8: false, maxPages: 1000 };

/** An intake of a target on which contents of the type `page` are at two paths. */
function newIntake(isSoft: boolean) {
  const db = newClearDb();
  addTargets(db, 'us');
  for (const path of ['/a/', '/b/'])
    db.write(() => db.targets.addPath({ contentType: 'page', target: 'us', path, extension: '' }));
  const options = { db, clock: new ManualClock(), resolve, isSoft, cursor: undefined };
  return { db, intake: new RequestIntake(options) };
}

function addUntilFull(intake: RequestIntake): number {
  let count = 0;
  for (; !intake.isSliceFull; count++) {
    const request = {
      contentId: `p${count}`,
      contentType: 'page',
      target: 'us',
      force: false,
      source: 'test',
    };
    assert.equal(intake.add(request), undefined);
  }
  return count;
}

describe('a slice of requests', () => {
  it('is full with as many requests as one transaction may have', () => {
    const { db, intake } = newIntake(false);
    assert.equal(addUntilFull(intake), 5000);
    intake.commit();
    assert.equal(intake.isSliceFull, false);
    assert.equal(db.queue.count(10_000), 5000);
  });

  it('is full with as many pages, where these are published', () => {
    const { db, intake } = newIntake(true);
    assert.equal(addUntilFull(intake), 2500);
    intake.commit();
    assert.equal(intake.isSliceFull, false);
    assert.equal(db.soft.waitingCount(), 5000);
    assert.equal(db.queue.count(10_000), 0);
  });

  it('holds nothing of a request without a page', () => {
    const { intake } = newIntake(true);
    const request = { contentId: 'p', contentType: 'other', target: 'us', force: false, source: 'test' };
    assert.match(intake.add(request) ?? '', /^no-path-map: /);
    assert.equal(intake.pending, 0);
  });
});
