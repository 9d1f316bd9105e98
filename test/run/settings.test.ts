import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../../src/config/load.js';
import { SETTINGS } from '../../src/config/settings.js';
import { supervisorTimes } from '../../src/run/options.js';

test('every setting of lccd reaches the option it is for', () => {
  const overrides = {
    'lccd.restart_min_ms': '11',
    'lccd.restart_max_ms': '12',
    'lccd.start_timeout_ms': '101',
    'lccd.stop_timeout_ms': '102',
  };
  const config = loadConfig({ env: { LCC_HOME: '/nonexistent' }, overrides });
  assert.deepEqual(supervisorTimes(config), {
    restartMinMs: 11,
    restartMaxMs: 12,
    startTimeoutMs: 101,
    stopTimeoutMs: 102,
  });
  const settings = Object.keys(SETTINGS).filter(key => key.startsWith('lccd.'));
  assert.deepEqual([...Object.keys(overrides), 'lccd.metrics_listen'].toSorted(), settings.toSorted());
});
