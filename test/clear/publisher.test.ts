/** Publications without sockets and without time: what is read, named, generated and sent, and when. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { newClearDb, newHome, railOf } from '../db/clear/support.js';
import { pageOf, SoftScene, type SoftSceneOptions } from './soft-scene.js';

const done = { kind: 'done' } as const;
const page = { url: '/a.html', target: 'us' };
const urlsOf = (count: number) => Array.from({ length: count }, (_, i) => `/p${i}.html`);

function newScene(options: SoftSceneOptions = {}, path = ':memory:') {
  const db = newClearDb(path);
  db.targets.put({ name: 'us', kind: 'elementary', lbUrl: 'http://127.0.0.1:1/', host: null });
  db.rails.add(railOf('r1', 'us'), 1);
  return new SoftScene(db, { generates: () => pageOf('new'), answers: () => done, ...options });
}

it('a publication meets the rails and the rules that were set up before it', async () => {
  const path = join(newHome(), 'clear/clear.db');
  const sent: string[] = [];
  const scene = newScene(
    {
      answers(rail, { op, url }) {
        if (url === page.url) sent.push(`${rail} ${op}`);
        return done;
      },
    },
    path,
  );
  /** Another connection: what a command of the administrator has. */
  const other = newClearDb(path);
  /** Publishes the page, and brings it to the rails. @returns what they were sent */
  const publish = async () => {
    other.write(() => other.soft.publish(page, scene.clock.nowMs()));
    scene.publisher.wake();
    await scene.settle();
    return sent.splice(0).toSorted();
  };
  assert.deepEqual(await publish(), ['r1 P']);
  other.rails.add(railOf('r2', 'us'), 2);
  assert.deepEqual(await publish(), ['r1 P', 'r2 P'], 'a rail, before the next look at the rails');
  other.soft.putRule({ ...page, isPattern: 0, enabled: 1, minIntervalMs: 60_000 });
  assert.deepEqual(await publish(), [], 'a rule that lets the page wait');
  assert.equal(scene.db.soft.waitingCount(), 1);
});

describe('the pipeline', () => {
  it('notes names for many pages in one commit, ahead of the few that are generated at a time', async () => {
    const scene = newScene({ generates: () => undefined });
    scene.publish(...urlsOf(100));
    scene.publisher.wake();
    await scene.settle();
    const { asked, db } = scene;
    assert.deepEqual([asked.length, db.soft.generated().length, scene.commitCount], [4, 100, 1]);
    for (let left = 100; left > 0; left--) {
      asked[0]?.answer(pageOf(`page ${left}`));
      // No commit is between a page that is generated and the next.
      await new Promise(resolve => void setImmediate(resolve));
      assert.equal(asked.length, Math.min(4, left - 1));
    }
    await scene.settle();
    assert.deepEqual([db.soft.waitingCount(), db.soft.generated().length], [0, 0]);
  });

  it('keeps the order: a name is on disk before it is asked for', async () => {
    const scene = newScene({ generates: () => undefined });
    scene.publish('/a.html');
    scene.publisher.wake();
    assert.deepEqual([scene.asked.length, scene.db.soft.generated().length], [0, 0]);
    await scene.settle();
    assert.deepEqual(
      scene.asked.map(({ url }) => url),
      scene.db.soft.generated().map(({ tsUrl }) => tsUrl),
    );
  });

  it('reads a publication once, however many are under way', async () => {
    const scene = newScene({ answers: () => undefined });
    scene.publish(...urlsOf(1500));
    scene.publisher.wake();
    for (let i = 0; i < 150; i++) await scene.settle();
    assert.equal(scene.publisher.onRailsCount, 1500);
    for (let i = 0; i < 4000 && scene.told.length > 0; i++) scene.told[0]?.answer(done);
    await scene.settle();
    assert.equal(scene.db.soft.waitingCount(), 0);
    assert.equal(scene.readCount, 1500);
  });

  it('has no more under way than the window, and goes on as pages leave it', async () => {
    const scene = newScene({ answers: () => undefined, limits: options => (options.soft.windowPages = 30) });
    scene.publish(...urlsOf(100));
    scene.publisher.wake();
    let most = 0;
    for (let i = 0; i < 200 && scene.db.soft.waitingCount() > 0; i++) {
      await scene.settle();
      most = Math.max(most, scene.publisher.onRailsCount);
      for (const { answer } of scene.told.slice()) answer(done);
    }
    assert.equal(most, 30);
    assert.equal(scene.db.soft.waitingCount(), 0);
  });

  it('generates a page again that is published while it is generated, without waiting for the next poll', async () => {
    const scene = newScene({ generates: () => undefined });
    scene.publish('/a.html');
    scene.publisher.wake();
    await scene.settle();
    scene.publish('/a.html', '/b.html');
    scene.publisher.wake();
    await scene.settle();
    assert.equal(scene.asked.length, 2, 'once at a time');
    for (const { answer } of scene.asked.slice()) answer(pageOf('first'));
    await scene.settle();
    assert.equal(scene.asked.length, 1);
    scene.asked[0]?.answer(pageOf('second'));
    await scene.settle();
    assert.equal(scene.db.soft.waitingCount(), 0);
  });

  it('tries again what failed when its time has come, also after the clock was set back', async () => {
    let isUp = false;
    const generates = () => (isUp ? pageOf('new') : ({ kind: 'failed', error: 'status 503' } as const));
    const scene = newScene({ generates });
    scene.publish(...urlsOf(10));
    await scene.pass(30);
    assert.ok(scene.publisher.failedCount > 20, String(scene.publisher.failedCount));
    const failed = scene.publisher.failedCount;
    scene.clock.jumpTo(scene.clock.nowMs() - 1_000_000);
    await scene.pass();
    assert.ok(
      scene.publisher.failedCount > failed,
      'what was noted while it was ahead waits no longer than usual',
    );
    scene.publish('/late.html');
    await scene.pass();
    isUp = true;
    await scene.pass(10);
    const late = scene.db.soft.get({ url: '/late.html', target: 'us' });
    assert.equal(late?.doneSeq, late?.publishSeq, 'its time is before those of the others');
    scene.clock.jumpTo(scene.clock.nowMs() + 2_000_000);
    await scene.pass();
    assert.deepEqual([scene.db.soft.waitingCount(), scene.failures], [0, []]);
  });
});
