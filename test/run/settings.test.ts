import assert from 'node:assert/strict';
import { test } from 'node:test';
import { supervisorTimes } from '../../src/run/options.js';
import { configOf, settingsOf } from '../support/settings.js';

test('every setting of lccd reaches the option it is for', () => {
  const overrides = {
    'lccd.restart_min_ms': '11',
    'lccd.restart_max_ms': '12',
    'lccd.start_timeout_ms': '101',
    'lccd.stop_timeout_ms': '102',
  };
  assert.deepEqual(supervisorTimes(configOf(overrides)), {
    restartMinMs: 11,
    restartMaxMs: 12,
    startTimeoutMs: 101,
    stopTimeoutMs: 102,
  });
  const { all, named } = settingsOf('lccd', [...Object.keys(overrides), 'lccd.metrics_listen']);
  assert.deepEqual(named, all);
});
