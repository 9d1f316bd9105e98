import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClearDatabase } from '../../src/db/clear/database.js';
import { LccError } from '../../src/lib/errors.js';
import { addGroup, addTargets, newClearDb, railOf } from '../db/clear/support.js';
import { Scene, type SceneOptions } from './scene.js';

/** Targets us and eu in all, with rails us1, us2, eu1, and a path each. */
function newFleet(): ClearDatabase {
  const db = newClearDb(':memory:');
  addTargets(db, 'us', 'eu');
  addGroup(db, 'all', 'us', 'eu');
  for (const name of ['us1', 'us2', 'eu1']) db.rails.add(railOf(name, name.slice(0, 2)), 1000);
  db.targets.addPath({ contentType: 'page', target: 'all', path: '/', extension: '' });
  return db;
}

function newScene(options: SceneOptions = {}, db = newFleet()): Scene {
  return new Scene(db, options);
}

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
    while (scene.answer('done') > 0) await scene.pass();
    assert.deepEqual([scene.left(), scene.sent.length], [[], 6]);
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

describe('a rail', () => {
  it('that refuses connections twice is DOWN: its pages wait in its backlog, all others are done', async () => {
    const scene = newScene({ answers: rail => (rail === 'us2' ? 'unreachable' : 'done') });
    scene.request('a', 'b', 'c', 'd', 'e', 'f');
    await scene.pass();
    assert.deepEqual(
      scene.left(),
      ['a', 'b', 'c', 'd', 'e', 'f'].map(id => `us2 /${id}`),
    );
    const row = scene.db.rails.get('us2');
    assert.deepEqual([row?.state, row?.changedBy, row?.reason], ['DOWN', 'cachebot', 'it was unreachable']);
    assert.equal(scene.logged.filter(line => line.startsWith('rail is DOWN: mend it')).length, 1);
    const tries = scene.sent.filter(line => line.startsWith('us2')).length;
    assert.equal(tries, 2, 'one that fails, and one to see');
    scene.request('g');
    await scene.pass(10);
    assert.equal(scene.sent.filter(line => line.startsWith('us2')).length, tries, 'nothing is sent to it');
    assert.ok(scene.left().includes('us2 /g'));
  });

  it('is sent its backlog when the administrator says that it is UP', async () => {
    const scene = newScene({ answers: rail => (rail === 'us2' ? 'unreachable' : 'done') });
    scene.request('a', 'b');
    await scene.pass(2);
    scene.answers = () => 'done';
    scene.db.rails.setByAdmin('us2', 'UP', scene.clock.nowMs());
    scene.sent.length = 0;
    await scene.pass(2);
    assert.deepEqual(scene.sent, ['us2 /a', 'us2 /b']);
    assert.deepEqual(scene.left(), []);
  });

  it('has a large backlog sent bit by bit, each page once', async () => {
    const db = newFleet();
    db.rails.setByAdmin('us2', 'DOWN', 2000);
    const scene = newScene({}, db);
    scene.request(...Array.from({ length: 1500 }, (_, i) => `p${i}`));
    await scene.pass(3);
    assert.equal(scene.left().length, 1000);
    db.rails.setByAdmin('us2', 'UP', scene.clock.nowMs());
    scene.sent.length = 0;
    await scene.pass(3);
    assert.deepEqual([scene.sent.length, new Set(scene.sent).size, scene.left()], [1500, 1500, []]);
  });

  it('that the administrator takes down is sent nothing more; what is under way may end well', async () => {
    const scene = newScene({ answers: rail => (rail === 'us2' ? undefined : 'done') });
    scene.request('a', 'b', 'c', 'd', 'e', 'f');
    await scene.pass();
    scene.db.rails.setByAdmin('us2', 'DOWN', scene.clock.nowMs());
    await scene.pass();
    const [first, second] = scene.open;
    first?.answer({ kind: 'done' });
    second?.answer({ kind: 'retry', error: 'status 503' });
    scene.answer('done');
    await scene.pass();
    assert.deepEqual(scene.left(), ['us2 /b', 'us2 /e', 'us2 /f']);
    assert.equal(scene.sent.filter(line => line.startsWith('us2')).length, 4);
  });

  it('that hangs is DOWN after three requests without an answer', async () => {
    const scene = newScene({ answers: rail => (rail === 'us2' ? 'unanswered' : 'done') });
    scene.request('a');
    await scene.pass(5);
    assert.deepEqual([scene.db.rails.get('us2')?.state, scene.left()], ['DOWN', ['us2 /a']]);
    assert.equal(scene.sent.filter(line => line.startsWith('us2')).length, 3);
  });

  it('that fails is tried again, later and later, and then from its backlog, for ever', async () => {
    const times: number[] = [];
    const scene = newScene({
      answers: rail => {
        if (rail === 'us2') times.push(scene.clock.monotonicMs());
        return rail === 'us2' ? 'retry' : 'done';
      },
    });
    scene.request('a');
    await scene.pass(130);
    const waits = times.map((ms, i) => Math.round((ms - (times[i - 1] ?? ms)) / 250) * 250);
    assert.deepEqual(waits, [0, 250, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000]);
    const entry = () => scene.db.backlog.get('us2', '/a');
    assert.deepEqual([scene.left(), entry()?.attempts, entry()?.lastError], [['us2 /a'], 10, 'it was retry']);
    await scene.pass(122);
    assert.deepEqual([times.length, entry()?.attempts], [12, 12]);
    scene.answers = () => 'done';
    await scene.pass(61);
    assert.deepEqual(scene.left(), []);
  });

  it('that is not set up gives its pages to the backlog at once, with one alarm a minute', async () => {
    const scene = newScene({ answers: rail => (rail === 'us2' ? 'config' : 'done') });
    scene.request('a', 'b', 'c');
    await scene.pass();
    assert.deepEqual(scene.left(), ['us2 /a', 'us2 /b', 'us2 /c']);
    const alarms = () => scene.logged.filter(line => line.startsWith('rail refuses requests')).length;
    assert.equal(alarms(), 1);
    await scene.pass(65);
    assert.deepEqual([alarms(), scene.db.backlog.get('us2', '/a')?.attempts], [2, 2]);
    assert.equal(scene.db.rails.get('us2')?.state, 'UP');
  });

  it('has what will never work kept, and not tried until somebody says so', async () => {
    const scene = newScene({ answers: rail => (rail === 'us2' ? 'dead' : 'done') });
    scene.request('a');
    await scene.pass(100);
    assert.deepEqual(scene.left(), ['us2 /a dead']);
    assert.equal(scene.sent.filter(line => line.startsWith('us2')).length, 1);
    scene.answers = () => 'done';
    scene.db.backlog.retry({ rail: 'us2' });
    await scene.pass(2);
    assert.deepEqual(scene.left(), []);
  });

  it('gives up in a backlog what is older than it may be', async () => {
    const scene = newScene({
      answers: rail => (rail === 'us2' ? 'config' : 'done'),
      limits: options => (options.rail.backlogMaxAgeMs = 100_000),
    });
    scene.request('a');
    await scene.pass(200);
    assert.deepEqual(scene.left(), ['us2 /a dead']);
  });

  it('settles an entry of its backlog with the next request for the page', async () => {
    const db = newFleet();
    const parked = { op: 'D', contentId: '', bodySha: null, attempts: 3, dead: 0, error: 'x' } as const;
    const scene = newScene({}, db);
    db.write(() =>
      db.backlog.park({ rail: 'us2', url: '/a', ...parked, nextMs: scene.clock.nowMs() + 1e9 }, 1),
    );
    await scene.pass();
    scene.request('a');
    await scene.pass();
    assert.deepEqual([scene.left(), scene.sent.length], [[], 3]);
  });

  it('that goes away keeps nobody waiting', async () => {
    const scene = newScene({ answers: rail => (rail === 'us2' ? undefined : 'done') });
    scene.request('a', 'b', 'c', 'd', 'e', 'f');
    await scene.pass();
    scene.db.rails.remove('us2');
    scene.request('g');
    await scene.pass();
    assert.deepEqual(scene.left(), []);
    assert.ok(!scene.sent.includes('us2 /g'));
  });

  it('that is set up in another way is sent again what was under way', async () => {
    const scene = newScene({ answers: rail => (rail === 'us2' ? undefined : 'done') });
    scene.request('a');
    await scene.pass();
    scene.answers = () => 'done';
    scene.db.rails.change('us2', { url: 'http://127.0.0.1/moved/' });
    await scene.pass(2);
    assert.deepEqual([scene.left(), scene.sent.filter(line => line === 'us2 /a').length], [[], 2]);
  });

  it('is sent each clearing once more later, if that is set, and the request stays until then', async () => {
    const scene = newScene({ limits: options => (options.rail.reboundMs = 5000) });
    scene.request('a');
    await scene.pass(4);
    assert.deepEqual([scene.sent.length, scene.left()], [3, ['a']]);
    await scene.pass(3);
    assert.deepEqual([scene.sent.length, scene.left()], [6, []]);
  });

  it('is logged once as SLOW and once as DELAYED, and is sent things all the same', async () => {
    const scene = newScene({
      answers: rail => (rail === 'us2' ? undefined : 'done'),
      limits: options => (options.rail.slowWindow = 4) && (options.rail.delayedPages = 100),
    });
    scene.request(...Array.from({ length: 300 }, (_, i) => `p${i}`));
    await scene.pass(2);
    const logged = (text: string) => scene.logged.filter(line => line.startsWith(text)).length;
    assert.deepEqual([logged('rail is DELAYED'), logged('rail is SLOW')], [1, 0]);
    while (scene.open.length > 0) {
      for (const one of [...scene.open]) one.answer({ kind: 'done' }, { tookMs: 3000 });
      await scene.pass();
    }
    assert.deepEqual([logged('rail is DELAYED'), logged('rail is SLOW')], [1, 1]);
    assert.equal(logged('rail is not DELAYED any more'), 1);
    assert.deepEqual(scene.left(), []);
  });

  it('that takes many pages in a request is sent them together, and one alone that it does not take', async () => {
    const way = { ask: () => assert.fail(), most: { pages: 3, chars: 1000 } };
    const scene = newScene({ sender: { batchOf: () => way } });
    for (const name of ['us2', 'eu1']) scene.db.rails.remove(name);
    scene.db.rails.change('us1', { workers: 1 });
    scene.request('x', 'bad', 'b', 'c', 'd');
    scene.answers = (_rail, url) => (url === '/x' ? undefined : url === '/bad' ? 'dead' : 'done');
    await scene.pass();
    scene.answer('done');
    await scene.pass();
    assert.deepEqual(scene.sent, ['us1 /x', 'us1 /bad+/b+/c', 'us1 /d', 'us1 /bad', 'us1 /b', 'us1 /c']);
    assert.deepEqual(scene.left(), ['us1 /bad dead']);
  });

  it('that limits its requests is sent no more than that', async () => {
    const scene = newScene({ sender: { rate: { perS: 2, burst: 1 } } });
    for (const name of ['us2', 'eu1']) scene.db.rails.remove(name);
    scene.request('a', 'b', 'c', 'd', 'e');
    await scene.pass(1);
    assert.ok(scene.sent.length <= 3, String(scene.sent.length));
    await scene.pass(2);
    assert.deepEqual([scene.sent.length, scene.left()], [5, []]);
  });
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
    while (scene.answer('done') > 0) await scene.pass();
    await scene.pass(20);
    assert.deepEqual(scene.left(), []);
    const ofSlow = scene.sent.filter(line => line.startsWith('us2'));
    assert.equal(ofSlow.length, new Set(ofSlow).size, 'each page once');
  });
});

describe('a database that cannot be written to', () => {
  it('stops the reading, and loses nothing of what was done', async () => {
    const scene = newScene();
    const { write } = scene.db;
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
