/** What arrives late on a rail: the other daemon, a rail of a lower tier, or a rule came between. The last word is a fresh page. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Parked } from '../../src/db/clear/backlog.js';
import { railOf } from '../db/clear/support.js';
import { newFleet, newScene } from './scene.js';

const PAGE = { url: '/a', target: 'us' };
const ENTRY = { rail: 'us1', url: '/a', op: 'D', contentId: 'a', attempts: 0, nextMs: 0, dead: 0 } as const;
const left = (more: Partial<Parked>): Parked => ({ ...ENTRY, bodySha: null, error: '', ...more });

describe('a page without a rule that is cleared', () => {
  /** Published by name. @returns the number of its publication, which is on all rails if it is done */
  function published(db: ReturnType<typeof newFleet>, isDone: boolean): number {
    return db.write(() => {
      const seq = db.soft.publish(PAGE, 1);
      if (isDone) db.soft.done(db.soft.get(PAGE) ?? assert.fail(), 1);
      return seq;
    });
  }

  it('is published once more when it was published while a rail was asked', async () => {
    const scene = newScene({ answers: () => undefined });
    scene.request('a');
    await scene.pass();
    const seq = published(scene.db, true);
    await scene.answerAll();
    const row = scene.db.soft.get(PAGE);
    assert.ok((row?.publishSeq ?? 0) > seq, 'the clearing may have come after the page');
    assert.deepEqual(scene.left(), []);
  });

  it('is published once more when a page was on its way, which may be older than the request', async () => {
    const scene = newScene({ answers: () => undefined });
    const seq = published(scene.db, false);
    scene.request('a');
    await scene.pass();
    const row = scene.db.soft.get(PAGE) ?? assert.fail();
    scene.db.write(() => scene.db.soft.done(row, 1));
    await scene.answerAll();
    assert.ok((scene.db.soft.get(PAGE)?.publishSeq ?? 0) > seq);
  });

  it('is published once more when it was published since, and the daemon was killed while a rail was asked', async () => {
    const scene = newScene({ answers: () => undefined });
    scene.request('a');
    await scene.pass();
    const seq = scene.db.write(() => {
      const number = scene.db.soft.publish(PAGE, scene.clock.nowMs());
      scene.db.soft.done(scene.db.soft.get(PAGE) ?? assert.fail(), scene.clock.nowMs());
      return number;
    });
    scene.kill();
    const next = newScene({ clock: scene.clock }, scene.db);
    await next.pass();
    assert.deepEqual([next.left(), next.sent.length], [[], 3]);
    assert.ok((scene.db.soft.get(PAGE)?.publishSeq ?? 0) > seq, 'it was cleared after it had been put');
  });

  it('is not when its last publication was done before, nor when it never had one', async () => {
    const scene = newScene();
    const seq = published(scene.db, true);
    scene.request('a', 'b');
    await scene.pass();
    assert.equal(scene.db.soft.get(PAGE)?.publishSeq, seq);
    assert.equal(scene.db.soft.get({ ...PAGE, url: '/b' }), undefined);
  });

  for (const [what, dead] of [
    ['waits', 0],
    ['is given up', 1],
  ] as const)
    it(`leaves nothing of an older page that ${what} in the backlog of a rail`, async () => {
      const scene = newScene();
      const seq = published(scene.db, true);
      scene.db.write(() => {
        scene.db.backlog.park(
          left({ op: 'P', bodySha: 'old', nextMs: Number.MAX_SAFE_INTEGER, dead }),
          1,
          seq,
        );
      });
      scene.request('a');
      await scene.pass(2);
      assert.deepEqual(scene.left(), []);
      assert.ok((scene.db.soft.get(PAGE)?.publishSeq ?? 0) > seq, 'lccd-soft may be putting it');
    });
});

describe('a rail of a lower tier that is late', () => {
  for (const [what, target, isTold] of [
    ['of its target', 'us', true],
    ['of a target in the same group', 'eu', true],
    ['of a target that has nothing to do with it', 'far', false],
  ] as const)
    it(`has a cache ${what} ${isTold ? 'cleared once more' : 'left alone'}`, async () => {
      const db = newFleet();
      db.targets.put({ name: 'far', kind: 'elementary', lbUrl: null, host: null });
      db.rails.add(railOf('cache', target, { tier: 1 }), 1000);
      db.rails.add(railOf('edge', target, { tier: 2 }), 1000);
      const scene = newScene({ answers: rail => (rail === 'us1' ? 'config' : 'done') }, db);
      scene.request('a');
      await scene.pass(2);
      assert.deepEqual(scene.left(), ['us1 /a']);
      scene.sent.length = 0;
      // Meanwhile a reader has the cache get the old page from us1.
      scene.answers = () => 'done';
      db.backlog.retry({});
      await scene.pass(5);
      assert.deepEqual(scene.sent, isTold ? ['us1 /a', 'cache /a', 'edge /a'] : ['us1 /a']);
      assert.deepEqual(scene.left(), []);
    });

  it('has a cache told once more of a page that was put', async () => {
    const db = newFleet();
    db.rails.add(railOf('cache', 'us', { tier: 1, driver: 'varnish' }), 1000);
    db.rails.add(railOf('files', 'us', { tier: 1, driver: 'nginx-dav' }), 1000);
    db.write(() => db.backlog.park(left({ op: 'P', bodySha: 'new' }), 1, 7));
    const bodyOf = ({ bodySha, seq }: { bodySha: string | null; seq: number }) => ({
      bytes: { bytes: new Uint8Array() },
      sha: bodySha ?? '',
      seq,
    });
    const scene = newScene({ replays: { op: 'P', bodyOf } }, db);
    await scene.pass(3);
    assert.deepEqual(scene.sent, ['us1 /a', 'cache /a']);
    assert.deepEqual(scene.left(), []);
  });
});

it('what a publication has cleared on a rail that is down does not outlast a later one', async () => {
  const db = newFleet();
  db.rails.setByAdmin('us1', 'DOWN', 2000);
  const scene = newScene({ replays: { op: 'P', bodyOf: () => undefined } }, db);
  const rail = scene.fleet.rails.find(({ name }) => name === 'us1') ?? assert.fail();
  const gone = db.write(() => db.soft.publish(PAGE, 1));
  // The page is there again before that is noted.
  const later = db.write(() => db.soft.publish(PAGE, 2));
  rail.add({ url: '/a', contentId: 'a', op: 'D', seq: gone }, () => undefined);
  rail.add(
    {
      url: '/a',
      contentId: 'a',
      op: 'P',
      body: { bytes: { bytes: new Uint8Array() }, sha: 'new', seq: later },
    },
    () => undefined,
  );
  scene.commits.flush();
  assert.deepEqual([db.backlog.get('us1', '/a')?.op, db.backlog.get('us1', '/a')?.seq], ['P', later]);
});
