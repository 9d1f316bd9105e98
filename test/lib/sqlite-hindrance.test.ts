/** What keeps a database from being used has the name of its file, and what to do: SQLite says neither. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { NamesDb } from '../../src/db/names/names.js';
import { RsDatabase } from '../../src/db/rs/database.js';
import { StoreDatabase } from '../../src/db/spider/database.js';
import { openDatabase, readingError, storageError } from '../../src/db/sqlite/open.js';
import { SessionStore } from '../../src/db/spools/sessions.js';
import { LccError } from '../../src/lib/errors.js';
import { tryLock } from '../../src/lib/lock.js';
import { openSqlite } from '../../src/lib/sqlite.js';

const dir = mkdtempSync(join(tmpdir(), 'lcc-hindrance-'));
after(() => rmSync(dir, { recursive: true }));

/** Asserts that the action is refused with the name of the file and a remedy. */
function refused(path: string, action: () => unknown, remedy: RegExp): void {
  assert.throws(action, (error: unknown) => {
    assert.ok(error instanceof LccError, String(error));
    assert.ok(error.message.startsWith(`${path}: `), error.message);
    assert.match(error.message, remedy);
    return true;
  });
}

test('a database that another process writes to', () => {
  const path = join(dir, 'busy.db');
  const writer = openDatabase(path);
  writer.exec('BEGIN IMMEDIATE');
  const other = openSqlite(path, { timeout: 0 });
  for (const named of [storageError, readingError])
    refused(
      path,
      () => {
        try {
          other.exec("INSERT INTO meta VALUES ('x', '')");
        } catch (error) {
          throw named(path, error);
        }
      },
      /database is locked: another process writes to it for long; run again$/,
    );
  other.close();
  writer.close();
});

test('files whose folder is none, as where a disk is not mounted', () => {
  writeFileSync(join(dir, 'file'), '');
  const below = (name: string) => join(dir, 'file', name);
  const remedy = /see that its folder is there, and that its disk can be written to$/;
  refused(below('x.lock'), () => tryLock(below('x.lock')), remedy);
  refused(below('names.db'), () => new NamesDb(below('names.db')), remedy);
});

test('a folder in the place of a file', () => {
  const remedy =
    /(see that its folder is there, and that its disk can be written to|disk I\/O error|EISDIR|ENOTDIR)/;
  for (const open of [
    (path: string) => openDatabase(path),
    (path: string) => RsDatabase.openForReading(path),
    (path: string) => StoreDatabase.openForReading(path),
    (path: string) => new NamesDb(path),
  ])
    refused(dir, () => open(dir), remedy);
  assert.throws(
    () => new SessionStore(dir),
    (error: Error) => error.message.includes(dir),
  );
});
