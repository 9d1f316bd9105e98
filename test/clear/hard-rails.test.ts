/** What becomes of pages, by what their rail does. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newFleet, newScene } from './scene.js';

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

  it('that fails is reported once a minute, at once and while its pages are tried again', async () => {
    const scene = newScene({ answers: rail => (rail === 'us2' ? 'retry' : 'done') });
    const said = () => scene.logged.filter(line => line.startsWith('rail fails'));
    scene.request('a', 'b', 'c');
    await scene.pass(3);
    assert.deepEqual(said(), ['rail fails: its pages are tried again {"rail":"us2","error":"it was retry"}']);
    await scene.pass(120);
    assert.equal(said().length, 2);
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

  it('that asks to be left alone is, for that long', async () => {
    const scene = newScene({ answers: rail => (rail === 'us2' ? undefined : 'done') });
    scene.request('a');
    await scene.pass();
    scene.open[0]?.answer({ kind: 'retry', error: 'status 503', afterMs: 30_000 });
    await scene.pass(29);
    assert.equal(scene.open.length, 0);
    await scene.pass(2);
    assert.equal(scene.answer('done', 'us2'), 1);
    await scene.pass();
    assert.deepEqual(scene.left(), []);
  });

  it('that was said to be UP as late as it is found down is UP: the administrator has the last word', async () => {
    const scene = newScene({ answers: rail => (rail === 'us2' ? 'unreachable' : 'done') });
    const { rails } = scene.db;
    const setDown = rails.setDown.bind(rails);
    rails.setDown = (name, atMs, reason) => {
      rails.setByAdmin(name, 'UP', atMs);
      scene.answers = () => 'done';
      return setDown(name, atMs, reason);
    };
    scene.request('a');
    await scene.pass(3);
    assert.equal(rails.get('us2')?.state, 'UP');
    assert.deepEqual([scene.left(), scene.fleet.rails.every(rail => !rail.isDown)], [[], true]);
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

  it('that takes a page in the end has nothing left of an older request for it that was given up', async () => {
    const scene = newScene({ answers: rail => (rail === 'us2' ? 'dead' : 'done') });
    scene.request('a');
    await scene.pass();
    assert.deepEqual(scene.left(), ['us2 /a dead']);
    scene.answers = () => 'done';
    scene.request('a');
    await scene.pass(2);
    assert.equal(scene.sent.filter(line => line.startsWith('us2')).length, 2);
    assert.deepEqual(scene.left(), []);
  });

  it('that clears a page has no older content of it put from its backlog later', async () => {
    const scene = newScene();
    const older = {
      rail: 'us2',
      url: '/a',
      op: 'P',
      contentId: '',
      bodySha: 'x',
      attempts: 1,
      nextMs: scene.clock.nowMs() + 600_000,
      dead: 0,
      error: 'status 507',
    } as const;
    scene.db.write(() => scene.db.backlog.park(older, scene.clock.nowMs()));
    scene.request('a');
    await scene.pass(2);
    assert.deepEqual(scene.left(), []);
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
      db.backlog.park({ rail: 'us2', url: '/a', ...parked, nextMs: scene.clock.nowMs() + 60_000 }, 1),
    );
    await scene.pass();
    scene.request('a');
    await scene.pass();
    assert.deepEqual([scene.left(), scene.sent.length], [[], 3]);
  });

  it('is sent pages from its backlog with their content, and nothing where that is gone', async () => {
    const db = newFleet();
    const parked = {
      rail: 'us2',
      op: 'P',
      contentId: '',
      attempts: 0,
      nextMs: 0,
      dead: 0,
      error: '',
    } as const;
    db.write(() => {
      for (const [i, bodySha] of ['gone', 'here', 'gone'].entries())
        db.backlog.park({ ...parked, url: `/p${i}`, bodySha }, 1);
    });
    const bodyOf = ({ bodySha, seq }: { bodySha: string | null; seq: number }) =>
      bodySha === 'here' ? { bytes: { bytes: Buffer.from('page') }, sha: 'here', seq } : undefined;
    const scene = newScene({ answers: () => undefined, replays: { op: 'P', bodyOf } }, db);
    await scene.pass();
    assert.deepEqual(
      scene.open.map(one => one.tasks.map(({ url, body }) => `${url} ${body?.sha}`)),
      [['/p1 here']],
    );
    scene.answer('done');
    await scene.pass();
    assert.deepEqual(scene.left(), ['us2 /p0', 'us2 /p2']);
    assert.equal(db.backlog.get('us2', '/p0')?.lastError, 'the content to put is not in the spool');
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
      limits: options => Object.assign(options.rail, { slowWindow: 4, delayedPages: 100 }),
    });
    scene.request(...Array.from({ length: 300 }, (_, i) => `p${i}`));
    await scene.pass(2);
    const logged = (text: string) => scene.logged.filter(line => line.startsWith(text)).length;
    assert.deepEqual([logged('rail is DELAYED'), logged('rail is SLOW')], [1, 0]);
    while (scene.open.length > 0) {
      for (const one of scene.open.slice()) one.answer({ kind: 'done' }, { tookMs: 3000 });
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

  it('whose workers are all busy is not looked at again and again when a page is due once more', async () => {
    const scene = newScene({ answers: rail => (rail === 'us2' ? undefined : 'done') });
    scene.db.rails.change('us2', { workers: 1 });
    scene.request('a', 'b');
    await scene.pass();
    scene.open[0]?.answer({ kind: 'retry', error: 'status 503' });
    let timers = 0;
    const after = scene.clock.after.bind(scene.clock);
    scene.clock.after = (...args) => {
      assert.ok(++timers < 1000, 'without end');
      return after(...args);
    };
    await scene.pass(5);
    scene.answers = () => 'done';
    scene.answer('done');
    await scene.pass();
    assert.deepEqual(scene.left(), []);
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
