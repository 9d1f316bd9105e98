import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TargetMap } from '../../src/clear/target-map.js';
import { LccError } from '../../src/lib/errors.js';
import { ManualClock } from '../support/manual-clock.js';
import { addTargets, newClearDb, railOf } from '../db/clear/support.js';
import { newFleet, newScene } from './scene.js';

describe('a request', () => {
  it('is done when every rail of its targets has cleared its pages, and leaves the journal', async () => {
    const scene = newScene();
    scene.request('a', 'b/c');
    await scene.pass();
    assert.deepEqual(scene.sent.toSorted(), [
      'eu1 /a',
      'eu1 /b/c',
      'us1 /a',
      'us1 /b/c',
      'us2 /a',
      'us2 /b/c',
    ]);
    assert.deepEqual([scene.left(), scene.reader.completedCount], [[], 2]);
    assert.deepEqual(
      scene.db.journal.since('us', 0, 0, 9).map(row => row.url),
      ['/a', '/b/c'],
    );
  });

  it('stays in the queue until the last rail has answered', async () => {
    const scene = newScene({ answers: rail => (rail === 'eu1' ? undefined : 'done') });
    scene.request('a');
    await scene.pass();
    assert.deepEqual(scene.left(), ['a']);
    scene.answer('done');
    await scene.pass();
    assert.deepEqual(scene.left(), []);
  });

  it('that is malformed is rejected with one line, and holds up nothing', async () => {
    const scene = newScene();
    scene.request('a', '../x', 'b/', '', 'a\0b', '*', '%2e%2e/x', 'c');
    await scene.pass();
    assert.deepEqual(
      scene.db.queue.rejections(0, 99).map(row => row.contentId),
      ['../x', 'b/', '', 'a\0b', '*', '%2e%2e/x'],
    );
    assert.equal(scene.sent.length, 6);
    assert.deepEqual([scene.left(), scene.reader.rejectedCount], [[], 6]);
    assert.equal(scene.logged.filter(line => line.startsWith('request rejected')).length, 6);
    assert.ok(scene.logged.every(line => !line.includes('\n')));
  });

  it('for targets without rails is done at once', async () => {
    const db = newFleet();
    for (const name of ['us1', 'us2', 'eu1']) db.rails.remove(name);
    const scene = newScene({}, db);
    scene.request('a');
    await scene.pass();
    assert.deepEqual([scene.left(), scene.sent], [[], []]);
  });

  it('reaches the rails of a tier when those of the tier before have done it, or cannot now', async () => {
    const db = newFleet();
    db.rails.add(railOf('cache', 'us', { tier: 1 }), 1000);
    db.rails.add(railOf('edge', 'us', { tier: 2 }), 1000);
    const scene = newScene({ answers: () => undefined }, db);
    scene.request('a');
    await scene.pass();
    assert.deepEqual(
      scene.open.map(one => one.rail),
      ['eu1', 'us1', 'us2'],
    );
    scene.answer('done', 'us1');
    scene.answer('done', 'eu1');
    assert.deepEqual(
      scene.open.map(one => one.rail),
      ['us2'],
    );
    scene.answer('dead', 'us2');
    assert.deepEqual(
      scene.open.map(one => one.rail),
      ['cache'],
    );
    scene.answer('done', 'cache');
    scene.answer('done', 'edge');
    await scene.pass();
    assert.deepEqual(scene.left(), ['us2 /a dead']);
  });
});

describe('equal requests', () => {
  it('that were there before anything was sent are done together', async () => {
    const scene = newScene();
    scene.request('a', 'b', 'a', 'a');
    await scene.pass();
    assert.deepEqual([scene.sent.length, scene.left()], [6, []]);
  });

  it('that come later are done once more, once', async () => {
    const scene = newScene({ answers: () => undefined });
    scene.request('a');
    await scene.pass();
    scene.request('a', 'a', 'b');
    await scene.pass();
    assert.deepEqual(
      scene.sent.toSorted(),
      ['eu1 /a', 'eu1 /b', 'us1 /a', 'us1 /b', 'us2 /a', 'us2 /b'],
      'in flight',
    );
    scene.answer('done');
    await scene.pass();
    assert.deepEqual(scene.sent.slice(6).toSorted(), ['eu1 /a', 'us1 /a', 'us2 /a']);
    scene.answer('done');
    await scene.pass();
    assert.deepEqual([scene.left(), scene.sent.length], [[], 9]);
  });

  it('all go with the first, where the paper is followed', async () => {
    const scene = newScene({ answers: () => undefined, limits: options => (options.isPaper = true) });
    scene.request('a');
    await scene.pass();
    scene.request('a');
    scene.answer('done');
    await scene.pass();
    assert.deepEqual([scene.left(), scene.sent.length], [[], 3]);
  });

  it('of a storm make each rail be asked twice at most', async () => {
    const scene = newScene({ answers: () => undefined });
    scene.request(...Array.from({ length: 5000 }, () => 'a'));
    await scene.pass();
    scene.request(...Array.from({ length: 5000 }, () => 'a'));
    await scene.pass();
    await scene.answerAll();
    assert.deepEqual([scene.left(), scene.sent.length], [[], 6]);
  });

  it('that came later are all rejected when there is no path for them any more', async () => {
    const scene = newScene({ answers: () => undefined });
    scene.request('a');
    await scene.pass();
    scene.request('a', 'a', 'a');
    await scene.pass();
    scene.fleet.map = new TargetMap([], [], []);
    await scene.answerAll();
    assert.deepEqual([scene.left(), scene.db.queue.rejections(0, 9).length], [[], 3]);
  });

  it('by page share what has not been sent, and are sent one after the other', async () => {
    const db = newFleet();
    db.targets.addPath({ contentType: 'page', target: 'us', path: '/x', extension: '' });
    db.targets.addPath({ contentType: 'other', target: 'us', path: '/', extension: '' });
    for (const name of ['us1', 'us2']) db.rails.change(name, { workers: 1 });
    const scene = newScene({ answers: () => undefined }, db);
    const add = (contentId: string, contentType: string) =>
      db.write(() => db.queue.add({ contentId, contentType, target: 'us', force: false, source: '' }, 1));
    add('first', 'page');
    add('a', 'page');
    add('xa', 'other');
    await scene.pass();
    assert.deepEqual(scene.sent, ['us1 /xfirst', 'us2 /xfirst']);
    scene.answer('done');
    assert.deepEqual(scene.sent.slice(2), ['us1 /xa', 'us2 /xa'], 'once for both');
    db.queue.add({ contentId: 'xa', contentType: 'other', target: 'us', force: false, source: '' }, 1);
    await scene.pass();
    scene.answer('done');
    await scene.pass();
    assert.deepEqual(scene.sent.slice(4), ['us1 /xa', 'us2 /xa'], 'once more for the one that came later');
    scene.answer('done');
    await scene.pass();
    assert.deepEqual(scene.left(), []);
  });
});

describe('a page that is replaced softly', () => {
  const rule = { url: '/a', target: 'us', isPattern: 0, enabled: 1, minIntervalMs: 0 } as const;

  it('is published in its target, and cleared in the others', async () => {
    const db = newFleet();
    db.soft.putRule(rule);
    const scene = newScene({}, db);
    scene.request('a', 'b');
    await scene.pass();
    assert.deepEqual(scene.sent.toSorted(), ['eu1 /a', 'eu1 /b', 'us1 /b', 'us2 /b']);
    assert.deepEqual(
      db.soft.due(0, 9).map(page => [page.url, page.target, page.publishSeq]),
      [['/a', 'us', 1]],
    );
    scene.request('a');
    await scene.pass();
    assert.equal(db.soft.get(rule)?.publishSeq, 2);
    assert.deepEqual(scene.left(), []);
  });

  it('is cleared as well when that is forced', async () => {
    const db = newFleet();
    db.soft.putRule({ ...rule, target: 'all', url: '/**', isPattern: 1 });
    const scene = newScene({}, db);
    scene.request('a', 'a!');
    await scene.pass();
    assert.deepEqual(scene.sent.toSorted(), ['eu1 /a', 'us1 /a', 'us2 /a']);
    assert.equal(db.soft.due(0, 9).length, 2);
  });
});

describe('a page that is replaced softly, and cleared all the same', () => {
  const rule = { url: '/a', target: 'us', isPattern: 0, enabled: 1, minIntervalMs: 0 } as const;

  /** The entry of us1 is on its way; the other daemon has put the page meanwhile. */
  async function replaying() {
    const db = newFleet();
    db.soft.putRule(rule);
    db.rails.setByAdmin('us1', 'DOWN', 2000);
    const scene = newScene({ clock: new ManualClock(10_000) }, db);
    scene.request('a!');
    await scene.pass();
    const first = db.soft.get(rule) ?? assert.fail();
    scene.answers = () => undefined;
    db.rails.setByAdmin('us1', 'UP', 20_000);
    await scene.pass();
    assert.deepEqual(
      scene.open.map(({ rail, urls }) => [rail, ...urls]),
      [['us1', '/a']],
    );
    db.write(() => {
      db.soft.done(first, 1);
      db.backlog.overtake('us1', '/a', first.publishSeq);
    });
    assert.deepEqual(db.soft.due(Infinity, 9), []);
    return { db, scene };
  }

  for (const kind of ['done', 'retry', 'dead'] as const)
    it(`is published again when an entry of a backlog came late: ${kind}`, async () => {
      const { db, scene } = await replaying();
      scene.answer(kind, 'us1');
      await scene.pass();
      assert.deepEqual(
        db.soft.due(Number.MAX_SAFE_INTEGER, 9).map(({ url, contentId }) => [url, contentId]),
        [['/a', 'a']],
      );
      assert.deepEqual(scene.left(), []);
    });

  it('is published again when the daemon was killed before it knew that an entry came late', async () => {
    const { db, scene } = await replaying();
    scene.kill();
    const next = newScene({ clock: scene.clock }, db);
    await next.pass();
    assert.deepEqual(
      db.soft.due(Number.MAX_SAFE_INTEGER, 9).map(({ url }) => url),
      ['/a'],
    );
    assert.deepEqual([next.sent, next.left()], [[], []], 'the page is newer than what was to be cleared');
  });

  it('is not when the entry is later than its last publication, or of a name that it was generated under', async () => {
    const db = newFleet();
    db.soft.putRule({ ...rule, url: '/**', isPattern: 1 });
    const seq = db.write(() => db.soft.publish(rule, 1));
    db.write(() => db.soft.done({ ...(db.soft.get(rule) ?? assert.fail()), publishSeq: seq }, 1));
    const entry = {
      rail: 'us1',
      op: 'D',
      contentId: '',
      bodySha: null,
      attempts: 0,
      nextMs: 0,
      dead: 0,
    } as const;
    db.write(() => {
      for (const url of ['/a', '/a-20261123142647005']) db.backlog.park({ ...entry, url, error: '' }, 1);
    });
    const scene = newScene({}, db);
    await scene.pass();
    assert.deepEqual(scene.sent.toSorted(), ['us1 /a', 'us1 /a-20261123142647005']);
    assert.deepEqual([scene.left(), db.soft.waitingCount()], [[], 0]);
  });
});

it('a page whose target is removed while it is cleared is passed over, and the daemon goes on', async () => {
  const db = newFleet();
  db.soft.putRule({ url: '/**', target: 'us', isPattern: 1, enabled: 1, minIntervalMs: 0 });
  const scene = newScene({ answers: () => undefined }, db);
  scene.request('a!');
  await scene.pass();
  db.rails.remove('us1');
  db.rails.remove('us2');
  db.targets.remove('us');
  await scene.answerAll();
  assert.deepEqual([scene.failures, scene.left(), db.soft.waitingCount()], [[], [], 0]);
});

describe('the window', () => {
  it('bounds what is in memory, and all gets its turn', async () => {
    const scene = newScene({
      answers: () => undefined,
      limits: options => (options.window.maxRequests = 10),
    });
    scene.request(...Array.from({ length: 35 }, (_, i) => `p${i}`));
    let most = 0;
    do {
      await scene.pass();
      most = Math.max(most, scene.reader.inFlightCount);
    } while (scene.answer('done') > 0);
    assert.deepEqual([most, scene.left(), scene.sent.length], [10, [], 105]);
  });

  it('is not filled by a rail that is slow: the others have work all the time', async () => {
    const scene = newScene({ answers: rail => (rail === 'us2' ? undefined : 'done') });
    const { maxRequests } = scene.options.window;
    scene.request(...Array.from({ length: maxRequests + 5000 }, (_, i) => `p${i}`));
    await scene.pass(20);
    assert.equal(scene.sent.filter(line => line.startsWith('us1')).length, maxRequests + 5000);
    assert.ok(scene.db.backlog.has('us2', 'D'));
    scene.answers = () => 'done';
    await scene.answerAll();
    await scene.pass(20);
    assert.deepEqual(scene.left(), []);
    const ofSlow = scene.sent.filter(line => line.startsWith('us2'));
    assert.equal(ofSlow.length, new Set(ofSlow).size, 'each page once');
  });
});

describe('what is set up while the daemon runs', () => {
  it('counts for every request that comes after it, before the next look at the rails', async () => {
    const db = newClearDb();
    const scene = newScene({}, db);
    const administrator = newClearDb(db.path);
    const steps = async () => {
      scene.reader.wake();
      for (let i = 0; i < 20; i++) await new Promise(resolve => void setImmediate(resolve));
    };
    await steps();
    administrator.write(() => {
      addTargets(administrator, 'us');
      administrator.targets.addPath({ contentType: 'page', target: 'us', path: '/', extension: '' });
      administrator.rails.add(railOf('us1', 'us'), 1000);
    });
    const page = { contentId: 'a', contentType: 'page', target: 'us', force: false, source: '' };
    administrator.write(() => administrator.queue.add(page, 1000));
    await steps();
    administrator.write(() => administrator.rails.add(railOf('us2', 'us'), 1000));
    administrator.write(() => administrator.queue.add({ ...page, contentId: 'b' }, 1000));
    await steps();
    assert.deepEqual(scene.sent, ['us1 /a', 'us1 /b', 'us2 /b']);
  });
});

describe('a database that cannot be written to', () => {
  it('stops the reading, and loses nothing of what was done', async () => {
    const scene = newScene();
    const write = scene.db.write.bind(scene.db);
    const full = new LccError('io.full', 'clear.db: database or disk is full');
    scene.request('a', 'b');
    scene.db.write = () => {
      throw full;
    };
    await scene.pass(3);
    assert.deepEqual([scene.commits.trouble, scene.sent.length], [full.message, 6]);
    scene.db.write = write;
    scene.db.write(() =>
      scene.db.queue.add({ contentId: 'c', contentType: 'page', target: 'all', force: false, source: '' }, 1),
    );
    await scene.pass(3);
    assert.deepEqual([scene.left(), scene.sent.length, scene.commits.trouble], [[], 9, undefined]);
  });

  it('ends the daemon with 75 after a minute', async () => {
    const scene = newScene();
    scene.request('a');
    scene.db.write = () => {
      throw new LccError('try.later', 'clear.db: others write to it for long');
    };
    await scene.pass(62);
    const [failure] = scene.failures;
    assert.ok(failure instanceof LccError && failure.code === 'try.later', String(failure));
    assert.match(failure.message, /given up after 60 s$/);
  });
});
