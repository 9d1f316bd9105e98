/** rs.db put back older, removed, emptied or damaged: it is noticed, and never replaced by an empty one. */
import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { RsDatabase } from '../../src/db/rs/database.js';
import { LccError } from '../../src/lib/errors.js';
import { silentLog } from '../../src/lib/log.js';
import { ManualClock } from '../support/manual-clock.js';

let dir = '';
let path = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'lcc-rs-'));
  path = join(dir, 'rs.db');
});
afterEach(() => rmSync(dir, { recursive: true }));

const note = (db: RsDatabase, event: string) =>
  db.write(() => db.audit.add({ event, registration: null, pid: null, by: 'rs', detail: '' }, 1));

/** A life of lccd-rs, whose end may be a kill. @returns the copy that was made before */
function serve(event: string, isKilled = false): string {
  const db = RsDatabase.open(path);
  const marks = db.newMarks({ clock: new ManualClock(), log: silentLog, failed: () => false });
  db.onCommit = () => marks.committed();
  marks.start();
  note(db, event);
  const copy = `${path}.copy-${event}`;
  if (isKilled) return copy;
  marks.stop();
  db.close();
  copyFileSync(path, copy);
  return copy;
}

const wrong = () => {
  const db = RsDatabase.open(path);
  const said = db.wentBack();
  db.close();
  return said;
};

function remove(): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
}

test('an older one is noticed, with what to do, and so is what lccrs did while lccd-rs was stopped', () => {
  const older = serve('first');
  assert.equal(wrong(), undefined);
  const db = RsDatabase.open(path);
  note(db, 'by lccrs');
  db.close();
  assert.equal(wrong(), undefined);
  remove();
  copyFileSync(older, path);
  assert.match(wrong() ?? '', /an older copy was put back .*lccrs list --differs/);
});

test('one that is removed or emptied is not made anew, in whatever way it had ended', () => {
  for (const isKilled of [false, true])
    for (const how of ['removed', 'emptied']) {
      serve(`${how}-${isKilled}`, isKilled);
      remove();
      if (how === 'emptied') writeFileSync(path, '');
      for (const open of [() => RsDatabase.open(path), () => RsDatabase.openForReading(path)])
        assert.throws(
          open,
          (error: unknown) =>
            error instanceof LccError &&
            error.code === 'config' &&
            /rs\.db: (not there|empty), though it was served until its audit entry \d+; put back a backup/.test(
              error.message,
            ),
        );
      rmSync(dir, { recursive: true });
      dir = mkdtempSync(join(tmpdir(), 'lcc-rs-'));
      path = join(dir, 'rs.db');
    }
});

test('a damaged one is refused', () => {
  serve('first');
  writeFileSync(path, 'no database, but long enough to be taken for one'.repeat(100));
  assert.throws(
    () => RsDatabase.open(path),
    (error: unknown) => error instanceof LccError && error.code === 'data.malformed',
  );
});
