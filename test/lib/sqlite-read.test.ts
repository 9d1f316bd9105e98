/** Databases on disks that nobody can write to from here. */
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { SharedCache } from '../../src/cu/server/cache.js';
import { CacheReader } from '../../src/db/cache/read.js';
import { NamesDb } from '../../src/db/names/names.js';
import { openDatabase, openReadOnly } from '../../src/db/sqlite/open.js';
import { LccError } from '../../src/lib/errors.js';
import { tryLock } from '../../src/lib/lock.js';
import { isOutdated, openForReading } from '../../src/lib/sqlite-read.js';
import { Disk, mountSmall, noDisk } from '../support/disk.js';

describe('a database on a read-only disk', { skip: noDisk('ext4') }, () => {
  const { TMPDIR } = process.env;
  let disk: Disk;
  let path = '';
  let temporary = '';

  beforeEach(() => {
    disk = new Disk('ext4', 24 * 1024 * 1024);
    path = join(disk.path, 'what? 50%#.db');
    temporary = disk.outside('tmp');
    mkdirSync(temporary);
    process.env['TMPDIR'] = temporary;
    openDatabase(path).close();
    disk.setReadOnly(true);
  });
  afterEach(async () => {
    if (TMPDIR === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = TMPDIR;
    await disk.remove();
  });

  it('is read, whatever its name, cannot be changed, and leaves no copy', () => {
    const db = openForReading(path, 0);
    assert.deepEqual(readdirSync(temporary), []);
    assert.equal(db.prepare("SELECT count(*) FROM counter WHERE name = 'seq'").pluck().get(), 1);
    assert.throws(() => db.exec('DELETE FROM counter'), { code: 'SQLITE_READONLY' });
    db.close();
  });

  it('that somebody else writes to after all is not taken for what it was', () => {
    const reader = new CacheReader(path, 'm');
    const cache = new SharedCache(path, 'm');
    const first = cache.reader();
    const seen = reader.dataVersion();
    reader.renew();
    disk.setReadOnly(false);
    const writer = openDatabase(path);
    writer.exec("UPDATE counter SET value = 7 WHERE name = 'seq'");
    assert.notEqual(reader.dataVersion(), seen, 'who follows is woken');
    assert.throws(() => reader.renew(), {
      code: 'try.later',
      message: /in use again since this copy was made; run again$/,
    });
    assert.notEqual(cache.reader(), first);
    cache.reader().renew();
    assert.equal(cache.reader().highWater, 7);
    reader.close();
    cache.close();
    const live = openForReading(path, 0);
    assert.ok(!isOutdated(live));
    live.close();
    writer.close();
  });

  it('is told of when there is no room for the copy, and no folder for it', () => {
    const unmount = mountSmall(temporary, '64k');
    try {
      assert.throws(() => openReadOnly(path), {
        code: 'io.full',
        message: /%#\.db is on a read-only disk and read from a copy: no room on the disk of .*TMPDIR$/,
      });
    } finally {
      unmount?.();
    }
    process.env['TMPDIR'] = join(temporary, 'none');
    assert.throws(() => openReadOnly(path), { code: 'input.missing', message: /no such file.*none/ });
    assert.throws(
      () => openReadOnly(path),
      ({ message }: Error) => !/lccd creates it/.test(message),
    );
  });

  it('is read with what its log alone has, when its writer was killed and the index of the log is gone', async () => {
    disk.setReadOnly(false);
    const writer = openDatabase(path);
    writer.exec("UPDATE counter SET value = 7 WHERE name = 'seq'");
    disk.sync();
    const [file = '', log = ''] = ['', '-wal'].map(part => path + part);
    const killed = join(disk.path, 'killed.db');
    copyFileSync(file, killed);
    copyFileSync(log, `${killed}-wal`);
    writer.close();
    disk.setReadOnly(true);
    const db = openForReading(killed, 0);
    assert.equal(db.prepare("SELECT value FROM counter WHERE name = 'seq'").pluck().get(), 7);
    db.close();
  });

  it('has no lock, which is told with its name', () => {
    const lock = join(disk.path, 'cursor.lock');
    assert.throws(
      () => tryLock(lock),
      (error: unknown) =>
        error instanceof LccError &&
        error.message ===
          `${lock}: unable to open database file; its disk is read-only: mount it for writing`,
    );
  });

  it('of names is looked at, and never served', () => {
    disk.setReadOnly(false);
    const names = join(disk.path, 'names.db');
    const served = new NamesDb(names);
    served.reserve(5);
    served.close();
    disk.setReadOnly(true);
    const looked = new NamesDb(names, true);
    assert.equal(looked.nextId, 5);
    assert.throws(() => looked.reserve(1), /readonly|read-only/i);
    looked.close();
    assert.throws(() => new NamesDb(names));
  });
});
