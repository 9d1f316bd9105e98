import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { fileIdOf } from '../../src/db/names/naming.js';
import { LccError } from '../../src/lib/errors.js';
import { mountSmall } from '../support/disk.js';
import { newDir, open, write } from './store-scene.js';

/** A disk may be filled. */
const NOTHING = { percent: 0, bytes: 0, whose: 'bm' } as const;

describe('a store', () => {
  it('is closed to other users when it is new, and keeps the mode it has when it is not', () => {
    const modeOf = (path: string) => statSync(path).mode & 0o777;
    const fresh = join(newDir(), 'store');
    open(fresh).store.close();
    assert.equal(modeOf(fresh), 0o750);
    chmodSync(fresh, 0o755);
    open(fresh).store.close();
    assert.equal(modeOf(fresh), 0o755);
  });

  it('hands out names whose folders exist', () => {
    const { store } = open(newDir(), { blockNames: 300 });
    for (let i = 0; i < 300; i++) {
      const name = store.take();
      assert.ok(name && existsSync(dirname(store.pathOf(name))));
    }
    store.close();
  });

  it('keeps a deleted file for the grace period, then removes it and uses its id again', () => {
    const { store, clock } = open(newDir());
    const { path, fileId } = write(store);
    let done = 0;
    store.delete(fileId, () => done++);
    assert.equal(done, 0, 'nothing is acknowledged before it is noted');
    clock.advance(10);
    assert.equal(done, 1);
    clock.advance(59_000);
    assert.ok(existsSync(path));
    assert.equal(store.namesInGrace, 1);
    clock.advance(2000);
    assert.ok(!existsSync(path));
    for (let i = 0; i < 3; i++) store.take();
    const next = store.take();
    assert.equal(next && fileIdOf(next), '00/00/00000000.1');
    store.close();
  });

  it('acknowledges the deletion of what is gone, was never there, or is no file of a store', () => {
    const dir = newDir();
    const { store, clock, events } = open(dir);
    writeFileSync(join(dir, '..', 'lcc-store-outside'), 'x');
    const { fileId } = write(store);
    let done = 0;
    for (const id of [fileId, fileId, '00/00/00000099.0', '../lcc-store-outside', '/etc/hostname']) {
      store.delete(id, () => done++);
    }
    clock.advance(70_000);
    store.delete(fileId, () => done++);
    clock.advance(10);
    assert.equal(done, 6);
    assert.ok(existsSync(join(dir, '..', 'lcc-store-outside')));
    rmSync(join(dir, '..', 'lcc-store-outside'));
    assert.equal(events.length, 2, 'paths outside the store are logged');
    store.close();
  });

  it('does not touch the new holder when a deletion is sent again after its id was given out anew', () => {
    const { store, clock } = open(newDir(), { graceMs: 0, blockNames: 1 });
    const first = write(store);
    store.delete(first.fileId, () => undefined);
    clock.advance(2000);
    const second = write(store);
    assert.equal(second.fileId, '00/00/00000000.1');
    store.delete(first.fileId, () => undefined);
    clock.advance(2000);
    assert.ok(existsSync(second.path));
    assert.equal(write(store).fileId, '00/00/00000001.0');
    store.close();
  });

  it('removes at once what nobody was told of', () => {
    const { store, clock } = open(newDir());
    const name = store.take();
    assert.ok(name);
    writeFileSync(store.pathOf(name), 'x');
    store.discard(name);
    clock.advance(1000);
    assert.ok(!existsSync(store.pathOf(name)));
    store.close();
  });

  it('gives a name that was never used to the next that asks', () => {
    const { store } = open(newDir());
    const name = store.take();
    assert.ok(name);
    store.giveBack(name);
    assert.deepEqual(store.take(), name);
    store.close();
  });

  it('keeps its free names and its graces over a restart, and loses none', () => {
    const dir = newDir();
    const first = open(dir);
    const kept = write(first.store);
    const gone = write(first.store);
    first.store.delete(gone.fileId, () => undefined);
    first.clock.advance(30_000);
    first.store.close();

    const second = open(dir);
    assert.equal(second.store.freeNames, 2, 'what was reserved and not used is free');
    assert.equal(second.store.namesInGrace, 1);
    second.clock.advance(59_000);
    assert.ok(existsSync(gone.path), 'time on the store’s clock passes only while it is open');
    second.clock.advance(2000);
    assert.ok(!existsSync(gone.path));
    assert.ok(existsSync(kept.path));
    const ids = [1, 2, 3, 4].map(() => second.store.take()).map(name => name && fileIdOf(name));
    assert.deepEqual(ids, ['00/00/00000001.1', '00/00/00000002.0', '00/00/00000003.0', '00/00/00000004.0']);
    second.store.close();
  });

  it('does not mind a wall clock that jumps', () => {
    const { store, clock } = open(newDir());
    const { path, fileId } = write(store);
    store.delete(fileId, () => undefined);
    clock.advance(10);
    clock.jumpTo(0);
    clock.advance(1000);
    clock.jumpTo(Date.UTC(2099, 0, 1));
    clock.advance(1000);
    assert.ok(existsSync(path));
    clock.advance(60_000);
    assert.ok(!existsSync(path));
    store.close();
  });

  it('refuses the store of another machine', () => {
    const dir = newDir();
    open(dir).store.close();
    assert.throws(
      () => open(dir, { machineId: 'm2' }),
      (error: unknown) =>
        error instanceof LccError && error.code === 'config' && /machine "m1", not "m2"/.test(error.message),
    );
  });

  it('gives out no old name when its names.db is missing beside content', () => {
    const dir = newDir();
    const first = open(dir);
    write(first.store);
    first.store.close();
    for (const file of readdirSync(dir)) if (file.startsWith('names.db')) rmSync(join(dir, file));
    const { store, events } = open(dir);
    const name = store.take();
    assert.ok(name && name.id >= 2 ** 24);
    assert.match(events.join(), /names\.db: missing although there is content/);
    store.close();
  });

  it('refuses a damaged names.db with what to move away, and leaves it as it is', () => {
    const dir = newDir();
    const first = open(dir);
    write(first.store);
    first.store.close();
    const path = join(dir, 'names.db');
    writeFileSync(path, 'no database'.repeat(1000));
    for (let n = 0; n < 2; n++)
      assert.throws(() => open(dir), {
        code: 'data.malformed',
        message: /names\.db: damaged .*move it out of the store, with its -wal and -shm/,
      });
    for (const name of ['names.db', 'names.db-wal', 'names.db-shm']) rmSync(join(dir, name), { force: true });
    const { store } = open(dir);
    assert.ok((store.take()?.id ?? 0) >= 2 ** 24);
    store.close();
  });

  it('is full below the share of free disk it must keep', () => {
    let percent = 50;
    const { store } = open(newDir(), { space: () => ({ freeBytes: percent * 1e6, totalBytes: 1e8 }) });
    assert.equal(store.full(), false);
    percent = 4.9;
    assert.equal(store.full(), true);
    store.close();
    assert.equal(open(newDir(), { minFree: NOTHING }).store.full(), false, 'the real disk');
  });

  it('needs no larger share of a large disk than the amount that is enough', () => {
    const GB = 2 ** 30;
    const space = { freeBytes: 38 * GB, totalBytes: 252 * GB };
    const minFree = { percent: 15, bytes: 4 * GB, whose: 'bm' as const };
    const { store } = open(newDir(), { space: () => space, minFree });
    assert.equal(store.full(), false);
    space.freeBytes = 3.9 * GB;
    assert.equal(store.full(), true);
    assert.equal(store.describeRoom(), '3.9 GB free of 252 GB, 4.0 GB needed (bm.min_free_disk_bytes)');
    store.close();
  });

  it('is full as soon as what was stored and what is being fetched need the room it must keep', () => {
    const MB = 2 ** 20;
    let freeBytes = 10 * MB;
    const { store } = open(newDir(), { space: () => ({ freeBytes, totalBytes: 100 * MB }) });
    assert.equal(store.full(4), false, 'nothing is known of sizes yet');
    const one = 0.5 * MB;
    const keep = () => {
      freeBytes -= one;
      store.stored(one);
      return store.mayBeFull(4);
    };
    assert.equal(keep(), false);
    while (!keep()) assert.equal(store.full(4), false);
    assert.equal(store.full(4), true);
    assert.equal(freeBytes, 6.5 * MB, 'less than the limit and four more contents');
    freeBytes -= 4 * one;
    assert.equal(
      store.full(0),
      true,
      'what was being fetched is stored: fetching does not begin again for that',
    );
    freeBytes = 5.5 * MB;
    assert.equal(store.full(0), true);
    freeBytes = 6 * MB;
    assert.equal(store.full(0), false, 'half of what was being fetched took no room, or somebody made some');
    store.stored(50 * MB);
    freeBytes = 10 * MB;
    assert.equal(store.full(100), false, 'large contents count for as much as the limit');
    store.close();
  });

  it('goes on by itself when a disk without any room has some again', t => {
    const dir = newDir();
    const unmount = mountSmall(dir, '384k');
    if (unmount === undefined) return t.skip('a small disk cannot be mounted here');
    try {
      const { store, clock, events } = open(join(dir, 'store'), { blockNames: 50, minFree: NOTHING });
      const fileIds = Array.from({ length: 50 }, () => write(store).fileId);
      assert.throws(() => writeFileSync(join(dir, 'fill'), Buffer.alloc(1024 * 1024)), { code: 'ENOSPC' });
      let done = 0;
      for (const fileId of fileIds) store.delete(fileId, () => done++);
      clock.advance(100);
      assert.equal(done, 0, 'what cannot be noted is not acknowledged');
      assert.equal(store.take(), undefined);
      assert.equal(store.full(), true);
      rmSync(join(dir, 'fill'));
      assert.equal(store.full(), false);
      clock.advance(3000);
      assert.equal(done, 50);
      assert.ok(store.take());
      assert.deepEqual(events, ['names.db: disk full; free space on it']);
      store.close();
    } finally {
      unmount();
    }
  });

  it('frees a disk without any room by deletions alone, each acknowledged only when it is noted', t => {
    const dir = newDir();
    const unmount = mountSmall(dir, '2m');
    if (unmount === undefined) return t.skip('a small disk cannot be mounted here');
    try {
      const how = { blockNames: 300, minFree: NOTHING };
      const first = open(join(dir, 'store'), how);
      const files = Array.from({ length: 200 }, () => write(first.store));
      first.store.close();
      const fill = Buffer.alloc(4 * 1024 * 1024);
      assert.throws(() => writeFileSync(join(dir, 'fill'), fill), { code: 'ENOSPC' });
      const { store, clock } = open(join(dir, 'store'), how);
      let done = 0;
      for (const { fileId } of files) store.delete(fileId, () => done++);
      clock.advance(59_000);
      assert.deepEqual(
        [done, files.filter(({ path }) => existsSync(path)).length],
        [0, 200],
        'the grace holds',
      );
      clock.advance(5000);
      assert.deepEqual([done, files.filter(({ path }) => existsSync(path)).length], [200, 0]);
      clock.advance(65_000);
      assert.equal(store.freeNames, 300, 'and all ids are free again');
      store.close();
    } finally {
      unmount();
    }
  });

  it('uses no name again whose file went unnoted, also when it ends before there is room to note it', t => {
    const dir = newDir();
    const unmount = mountSmall(dir, '256k');
    if (unmount === undefined) return t.skip('a small disk cannot be mounted here');
    try {
      const how = { graceMs: 0, blockNames: 4, minFree: NOTHING };
      const begun = open(join(dir, 'store'), how);
      const { path, fileId } = write(begun.store, '');
      begun.store.close();
      assert.throws(() => writeFileSync(join(dir, 'fill'), Buffer.alloc(1024 * 1024)), { code: 'ENOSPC' });
      const first = open(join(dir, 'store'), how);
      let done = 0;
      first.store.delete(fileId, () => done++);
      first.clock.advance(5000);
      assert.deepEqual([done, existsSync(path)], [0, false], 'an empty file makes no room');
      first.store.close();
      rmSync(join(dir, 'fill'));
      const second = open(join(dir, 'store'), how);
      const ids = Array.from({ length: 8 }, () => write(second.store).fileId);
      assert.ok(!ids.includes(fileId));
      second.store.delete(fileId, () => done++);
      second.clock.advance(5000);
      assert.equal(done, 1);
      assert.ok(Array.from({ length: 4 }, () => write(second.store).fileId).includes('00/00/00000000.1'));
      second.store.close();
    } finally {
      unmount();
    }
  });

  it('removes many files in small portions', () => {
    const { store, clock } = open(newDir(), { graceMs: 0, blockNames: 500 });
    const files = Array.from({ length: 500 }, () => write(store));
    for (const { fileId } of files) store.delete(fileId, () => undefined);
    clock.advance(3000);
    assert.equal(files.filter(({ path }) => existsSync(path)).length, 0);
    assert.equal(store.freeNames, 500);
    store.close();
  });

  it('goes on when a file cannot be removed, and tries again a grace later', () => {
    const { store, clock, events } = open(newDir(), { graceMs: 5000 });
    const { path, fileId } = write(store);
    rmSync(path);
    mkdirSync(path);
    store.delete(fileId, () => undefined);
    const other = write(store);
    store.delete(other.fileId, () => undefined);
    clock.advance(7000);
    assert.ok(!existsSync(other.path));
    assert.deepEqual(events, ['cannot remove a deleted file']);
    assert.equal(store.namesInGrace, 1);
    rmSync(path, { recursive: true });
    clock.advance(6000);
    assert.equal(store.namesInGrace, 0);
    store.close();
  });
});
