import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cuOptions } from '../../src/cu/server/options.js';
import { valueOf, type SettingKey } from '../../src/config/settings/index.js';
import { configOf, settingsOf } from '../support/settings.js';

test('every setting of lccd-cu reaches the option it is for', () => {
  const limits = {
    'cu.max_connections': 11,
    'cu.max_connections_per_address': 12,
    'cu.stall_timeout_ms': 14,
    'cu.answer_timeout_ms': 15,
    'cu.stream_ms': 16,
    'cu.max_streams': 17,
    'cu.max_streams_per_address': 18,
  };
  const others = {
    'cu.readers_file': '/somewhere',
    'cu.anonymous': 'true',
    'cu.url': 'https://h/base/',
    'cu.max_text_bytes': '5000',
    'bm.machine_id': 'm2',
  };
  const given = Object.entries(limits).map(([key, value]) => [key, String(value)]);
  const overrides = { ...Object.fromEntries(given), ...others };
  const options = cuOptions(configOf(overrides), Infinity);
  for (const [key, value] of Object.entries(limits))
    assert.equal(valueOf({ cu: options.limits }, key as SettingKey), value, key);
  const { readers, anonymous, machineId, httpBase, maxTextBytes } = options;
  assert.deepEqual(
    [readers.path, anonymous, machineId, httpBase, maxTextBytes],
    ['/somewhere', true, 'm2', '/base', 5000],
  );
  // Seen by test/commands/lccd, test/commands/lccd-cu-changes, test/cu/http/door and test/web/metrics.
  const elsewhere = ['cu.listen', 'cu.http_listen', 'cu.http_origins', 'cu.metrics_listen'];
  const { all, named } = settingsOf('cu', [...Object.keys(overrides), ...elsewhere]);
  assert.deepEqual(named, all);
});
