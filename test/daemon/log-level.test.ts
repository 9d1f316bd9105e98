import assert from 'node:assert/strict';
import { test } from 'node:test';
import { logLevelOf } from '../../src/daemon/log-level.js';

test('a daemon logs errors only with -q, which wins, and details with -v', () => {
  assert.equal(logLevelOf({ quiet: false, verbose: false }), 'info');
  assert.equal(logLevelOf({ quiet: false, verbose: true }), 'debug');
  assert.equal(logLevelOf({ quiet: true, verbose: false }), 'error');
  assert.equal(logLevelOf({ quiet: true, verbose: true }), 'error');
});
