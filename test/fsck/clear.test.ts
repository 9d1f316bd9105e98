/** clear.db as lccfsck sees it: put back from a backup, gone, or damaged. */
import assert from 'node:assert/strict';
import {
  closeSync,
  copyFileSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ClearDatabase } from '../../src/db/clear/database.js';
import { clearDatabase, type ClearCheck } from '../../src/fsck/clear.js';
import { tryLock } from '../../src/lib/lock.js';
import { silentLog } from '../../src/lib/log.js';
import { ManualClock } from '../support/manual-clock.js';
import { addTargets, newHome, railOf } from '../db/clear/support.js';

const NOW_MS = 50_000;

function scene() {
  const clearDir = join(newHome(), 'clear');
  const path = join(clearDir, 'clear.db');
  const notes: string[] = [];
  const fsck = (more: Partial<ClearCheck> = {}) => [
    ...clearDatabase({
      clearDir,
      repair: false,
      startEmpty: false,
      restored: false,
      nowMs: () => NOW_MS,
      note: message => void notes.push(message),
      ...more,
    }),
  ];
  const open = () => ClearDatabase.open(path, 0);
  const request = (db: ClearDatabase, ...ids: string[]) =>
    db.write(() => {
      for (const contentId of ids)
        db.queue.add({ contentId, contentType: 'page', target: 'us', force: false, source: '' }, 1);
    });
  /** A life of lccd-hard: what it does is marked, and it stops. */
  const serve = async (act: (db: ClearDatabase) => void) => {
    const db = open();
    const marks = db.newMarks({ clock: new ManualClock(), log: silentLog, failed: () => false });
    marks.start();
    act(db);
    marks.committed();
    marks.stop();
    db.close();
  };
  const begin = () =>
    serve(db => {
      addTargets(db, 'us');
      db.rails.add(railOf('r1', 'us'), 1);
      db.write(() => db.soft.publish({ url: '/a', target: 'us' }, 1));
      const page = db.soft.get({ url: '/a', target: 'us' }) ?? assert.fail();
      db.write(() => db.soft.done(page, 1));
      request(db, 'first');
    });
  return { clearDir, path, notes, fsck, open, request, serve, begin };
}

describe('clear.db', () => {
  it('is sound after an orderly life, and nothing is said where there is none', async () => {
    const { fsck, begin } = scene();
    assert.deepEqual(fsck(), []);
    await begin();
    assert.deepEqual(fsck(), []);
  });

  it('that lacks what commands queued while the daemons were stopped is noticed as well, however often they try', async () => {
    const { path, fsck, open, request, begin } = scene();
    await begin();
    copyFileSync(path, `${path}.backup`);
    for (const id of ['while', 'it', 'is', 'stopped']) {
      const db = open();
      request(db, id);
      db.close();
    }
    assert.deepEqual(fsck(), []);
    copyFileSync(`${path}.backup`, path);
    assert.match(fsck()[0]?.what ?? '', /an older copy was put back/);
    // What is queued in an older copy does not make it the right one.
    for (let n = 0; n < 6; n++) {
      const db = open();
      request(db, `late ${n}`);
      db.close();
      assert.match(fsck()[0]?.what ?? '', /an older copy was put back/);
    }
  });

  it('that was put back from a backup is noticed, and left alone unless it is to begin again', async () => {
    const { path, notes, fsck, open, request, serve, begin } = scene();
    await begin();
    copyFileSync(path, `${path}.backup`);
    await serve(db => request(db, 'second'));
    copyFileSync(`${path}.backup`, path);
    const [found, ...more] = fsck({ repair: true });
    assert.match(
      found?.what ?? '',
      /an older copy was put back \(its last request is 1, it was 2\); .*--restored$/,
    );
    assert.deepEqual([more, found?.repaired], [[], false]);
    const stale = open();
    assert.match(stale.wentBack() ?? '', /an older copy was put back/, 'as a daemon sees it');
    stale.close();
    assert.deepEqual(
      fsck({ repair: true, restored: true }).map(({ repaired }) => repaired),
      [true],
    );
    assert.match(notes.join(), /clear once more what was changed since/);
    assert.deepEqual(fsck(), []);
    const db = open();
    assert.equal(db.wentBack(), undefined);
    const [page] = db.soft.due(NOW_MS, 9);
    assert.ok(
      (page?.publishSeq ?? 0) > 1_000_000,
      'every page is published again, above all numbers that were given out',
    );
    assert.equal(db.numbers.last('publish_seq'), page?.publishSeq);
    assert.equal(db.numbers.last('last_stamp'), NOW_MS);
    assert.equal(db.queue.count(9), 1);
    db.close();
  });

  it('that is gone though it was served is not made again by itself', async () => {
    const { clearDir, path, fsck, open, begin } = scene();
    await begin();
    for (const name of ['clear.db', 'clear.db-wal', 'clear.db-shm'])
      rmSync(join(clearDir, name), { force: true });
    const gone = /not there, though it was served until its request 1; .*--start-empty$/;
    assert.throws(open, (error: Error) => gone.test(error.message));
    assert.match(fsck()[0]?.what ?? '', gone);
    assert.equal(fsck({ repair: true, startEmpty: true })[0]?.repaired, true);
    assert.deepEqual(fsck(), []);
    open().close();
    assert.ok(readdirSync(clearDir).includes('clear.db'), path);
  });

  it('that is damaged is left as it is, with what to do; moved away, it begins with nothing at an operator’s word', async () => {
    const { clearDir, path, fsck, open, request, serve, begin } = scene();
    await begin();
    await serve(db => request(db, ...Array.from({ length: 3000 }, (_, i) => `page/${i}`)));
    const pages = statSync(path).size / 4096;
    for (const [first, count] of [
      [20, 4],
      [1, pages - 1],
      [0, pages],
    ] as const) {
      spoil(path, first, count);
      const damaged = readFileSync(path);
      for (const more of [{}, { repair: true }, { repair: true, startEmpty: true }]) {
        const [found, ...others] = fsck(more);
        assert.match(
          found?.what ?? '',
          /damaged \(.*put back a backup, or move it away and begin with nothing/,
        );
        assert.deepEqual([found?.repaired, others], [false, []]);
      }
      assert.ok(readFileSync(path).equals(damaged), 'nothing is changed');
    }
    for (const name of ['clear.db', 'clear.db-wal', 'clear.db-shm'])
      rmSync(join(clearDir, name), { force: true });
    assert.throws(open, /not there, though it was served/);
    assert.equal(fsck({ repair: true, startEmpty: true })[0]?.repaired, true);
    const db = open();
    assert.deepEqual(db.rails.all(), []);
    db.close();
  });

  it('is not repaired while a daemon has it', async () => {
    const { clearDir, fsck, begin } = scene();
    await begin();
    const lock = tryLock(join(clearDir, 'soft.lock'));
    assert.throws(() => fsck({ repair: true }), /soft\.lock: held by .*; stop that one before a repair$/);
    lock?.release();
    assert.deepEqual(fsck({ repair: true }), []);
  });
});

/** Overwrites pages of a database. */
function spoil(path: string, firstPage: number, pages: number): void {
  const fd = openSync(path, 'r+');
  writeSync(fd, Buffer.alloc(4096 * pages, 7), 0, 4096 * pages, 4096 * firstPage);
  closeSync(fd);
}
