import assert from 'node:assert/strict';
import { closeSync, existsSync, openSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { ClearDatabase } from '../../../src/db/clear/database.js';
import { openSqlite } from '../../../src/lib/sqlite.js';
import { addTargets, newClearDb, newHome } from './support.js';

it('the database is made with its folder, closed to others, and its commits are on disk', () => {
  const path = join(newHome(), 'clear/clear.db');
  assert.throws(() => ClearDatabase.openForReading(path), /there is none yet; lccrail target add makes it/);
  const db = newClearDb(path);
  assert.deepEqual([statSync(path).mode & 0o007, statSync(join(path, '..')).mode & 0o007], [0, 0]);
  addTargets(db, 'us');
  const reader = ClearDatabase.openForReading(path);
  const seen = reader.version();
  assert.deepEqual(
    reader.targets.all().map(row => row.name),
    ['us'],
  );
  assert.equal(reader.version(), seen);
  addTargets(db, 'eu');
  assert.notEqual(reader.version(), seen);
  assert.throws(() => reader.targets.put({ name: 'x', kind: 'group', lbUrl: null, host: null }), /readonly/);
  reader.close();
});

it('what fails in the middle leaves nothing', () => {
  const db = newClearDb();
  assert.throws(() =>
    db.write(() => {
      addTargets(db, 'us');
      throw new Error('cut off');
    }),
  );
  assert.deepEqual(db.targets.all(), []);
});

it('a database of a newer LCC is refused', () => {
  const path = join(newHome(), 'clear/clear.db');
  newClearDb(path);
  const raw = openSqlite(path);
  raw.pragma('user_version = 99');
  raw.close();
  for (const open of [() => ClearDatabase.open(path, 0), () => ClearDatabase.openForReading(path)])
    assert.throws(open, (error: { code?: string; message?: string }) => {
      assert.equal(error.code, 'config');
      assert.match(String(error.message), /written by a newer LCC/);
      return true;
    });
});

it('a damaged database is refused with what to do, and stays where it is', () => {
  const path = join(newHome(), 'clear/clear.db');
  newClearDb(path).close();
  const fd = openSync(path, 'r+');
  writeSync(fd, Buffer.alloc(4096, 7), 0, 4096, 0);
  closeSync(fd);
  assert.throws(
    () => ClearDatabase.open(path, 0),
    (error: { code?: string; message?: string }) => {
      assert.equal(error.code, 'data.malformed');
      assert.match(
        String(error.message),
        /put back a backup, or move it away and begin with nothing: lccfsck --repair --start-empty/,
      );
      return true;
    },
  );
  assert.ok(existsSync(path));
  const other = join(newHome(), 'clear.db');
  writeFileSync(other, 'this is no database at all, but some text that is long enough to be looked at');
  assert.throws(() => ClearDatabase.openForReading(other), /damaged \(file is not a database\)/);
});

it('a page of the database that is damaged is found by those that look at all of it', () => {
  const path = join(newHome(), 'clear/clear.db');
  const db = newClearDb(path);
  const request = { contentType: 'page', target: 'us', force: false, source: '' };
  db.write(() => {
    for (let i = 0; i < 5000; i++) db.queue.add({ contentId: `page/${i}`, ...request }, 1);
  });
  db.requireSound();
  db.close();
  const fd = openSync(path, 'r+');
  writeSync(fd, Buffer.alloc(4096, 7), 0, 4096, 4096 * (Math.floor(statSync(path).size / 4096) - 3));
  closeSync(fd);
  const damaged = newClearDb(path);
  assert.throws(
    () => damaged.requireSound(),
    (error: { code?: string; message?: string }) => {
      assert.equal(error.code, 'data.malformed');
      assert.match(String(error.message), /database damaged .*; stop what uses it and put back a backup/);
      return true;
    },
  );
});

it('a writer waits for another, and says so when that takes too long', () => {
  const path = join(newHome(), 'clear/clear.db');
  const db = newClearDb(path);
  const other = ClearDatabase.open(path, 0);
  db.write(() => {
    assert.throws(
      () => other.write(() => undefined),
      (error: { code?: string; message?: string }) => {
        assert.equal(error.code, 'try.later');
        assert.match(String(error.message), /run again$/);
        return true;
      },
    );
  });
  other.close();
});
