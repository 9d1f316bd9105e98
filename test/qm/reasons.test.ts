/** Reasons of the Queue Manager for what is not as it should be; those that many daemons have are in run/look/reasons. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ofLongLog } from '../../src/qm/reasons.js';

test('the log of the database is named from 256 MB on, with who may keep it', () => {
  const long = 256 * 1024 * 1024;
  assert.equal(ofLongLog({ log_bytes: long - 1 }), false);
  assert.match(
    String(ofLongLog({ log_bytes: long })),
    /^lcc\.db-wal has grown to 256 MB: .*lccq into a pager.*fuser lcc\.db names it$/,
  );
});
