/** What `lccclear --wait` waits for. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { waitForRequests } from '../../src/clear/intake/wait.js';
import type { ClearDatabase } from '../../src/db/clear/database.js';
import type { NewRequest } from '../../src/db/clear/queue.js';
import { ManualClock } from '../support/manual-clock.js';
import { addTargets, newClearDb, railOf } from '../db/clear/support.js';

const PAGE = { url: '/a', target: 'www' };

/** A target with rails `up` and `down`, and a request for page /a that has left the queue. */
function newScene() {
  const db = newClearDb();
  db.write(() => {
    addTargets(db, 'www');
    db.targets.addPath({ contentType: '@url', target: 'www', path: '/', extension: '' });
    for (const name of ['up', 'down']) db.rails.add(railOf(name, 'www'), 1000);
    db.rails.setByAdmin('down', 'DOWN', 2000);
  });
  const request: NewRequest = {
    contentId: '/a',
    contentType: '@url',
    target: 'www',
    force: false,
    source: '',
  };
  const clock = new ManualClock();
  const wait = (then: (round: number, db: ClearDatabase) => void = () => undefined) => {
    let round = 0;
    return waitForRequests(
      db,
      clock,
      { ranges: [], requests: [request] },
      { utf8: false, maxPages: 10 },
      1000,
      delayMs => {
        clock.advance(delayMs);
        db.write(() => then(++round, db));
        return Promise.resolve();
      },
    );
  };
  const park = (rail: string, error: string, dead: 0 | 1 = 0) =>
    db.write(() =>
      db.backlog.park(
        { rail, url: '/a', op: 'D', contentId: '', bodySha: null, attempts: 1, nextMs: 0, dead, error },
        1000,
      ),
    );
  return { db, wait, park };
}

describe('waiting for requests', () => {
  it('ends when no rail that is up has a page of theirs in its backlog', async () => {
    const { wait, park } = newScene();
    park('up', 'status 401');
    park('down', 'refused');
    const late = await wait();
    assert.deepEqual(
      [late.state, late.waiting, late.problems],
      ['waiting', 1, ['/a on rail up: status 401']],
    );
    const rounds: number[] = [];
    const done = await wait((round, db) => {
      rounds.push(round);
      if (round === 3) db.backlog.settle('up', '/a', Infinity);
    });
    assert.deepEqual([done.state, done.problems, [...done.down]], ['done', [], [['down', 1]]]);
    assert.deepEqual(rounds, [1, 2, 3]);
  });

  it('ends when what they publish is on the rails', async () => {
    const { db, wait } = newScene();
    db.write(() => db.soft.publish(PAGE, 1000));
    const page = () => db.soft.get(PAGE) ?? assert.fail();
    db.write(() => db.soft.failed(page(), 2000, 'status 503'));
    const late = await wait();
    assert.deepEqual([late.state, late.problems], ['waiting', ['/a: status 503']]);
    const done = await wait(round => {
      if (round === 2) db.soft.done(page(), 3000);
    });
    assert.equal(done.state, 'done');
  });

  it('finds pages that are given up on a rail', async () => {
    const { wait, park } = newScene();
    park('up', 'status 400', 1);
    const { state, problems } = await wait();
    assert.deepEqual([state, problems], ['rejected', ['/a: given up on rail up: status 400']]);
  });
});
