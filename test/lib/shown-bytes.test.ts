import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shownBytes } from '../../src/lib/shown-bytes.js';

test('what a peer sent is shown on one line of printable characters, and no more than is asked for', () => {
  assert.equal(shownBytes('HTTP/1.1 400 ~'), 'HTTP/1.1 400 ~');
  assert.equal(shownBytes('\x1b[2J\r\n\0\xff\\'), '\\x1b[2J\\x0d\\x0a\\x00\\xff\\x5c');
  assert.equal(shownBytes('x'.repeat(80)), 'x'.repeat(80));
  assert.equal(shownBytes('x'.repeat(81)), `${'x'.repeat(80)}...`);
  assert.equal(shownBytes('\xe4bc', 2), '\\xe4b...');
});
