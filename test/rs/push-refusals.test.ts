/** Refusals at the doors of pushes, as they are kept. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { RsDatabase } from '../../src/db/rs/database.js';
import { PushRefusals } from '../../src/rs/push/refusals.js';
import { ManualClock } from '../support/manual-clock.js';

test('equal refusals are one, the newest, with how many urls it was; no other one is pushed out by it', t => {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-refusals-'));
  const db = RsDatabase.open(join(dir, 'rs.db'));
  t.after(() => {
    db.close();
    rmSync(dir, { recursive: true });
  });
  const clock = new ManualClock();
  const refusals = new PushRefusals({ db, clock, fail: error => assert.fail(String(error)) });
  const refuse = (url: string, reason: string, n = 1, pid = 7) =>
    refusals.add(pid, 'indexnow', { url, reason }, n);
  refuse('/other', 'the key file is missing');
  for (let i = 0; i < 150; i++) {
    refuse(`/${i}`, 'too many requests', 2);
    refuse(`/${i}`, 'too many requests', 1, 8);
    clock.advance(1000);
  }
  // Within one second, too.
  for (let i = 0; i < 150; i++) refuse(`/at-once-${i}`, 'too many requests');
  refusals.flush();
  assert.deepEqual(
    db.push.refusals(7, 1000).map(({ url, urls }) => [url, urls]),
    [
      ['/at-once-149', 450],
      ['/other', 1],
    ],
  );
  assert.deepEqual(
    db.push.refusals(8, 1000).map(({ url, urls }) => [url, urls]),
    [['/149', 150]],
  );
  assert.deepEqual(
    db.push.days(7, 1).map(({ refused }) => refused),
    [451],
  );
});
