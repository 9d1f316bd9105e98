import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cuOptions } from '../../src/cu/server/options.js';
import { valueOf, type SettingKey } from '../../src/config/settings/index.js';
import { configOf, settingsOf } from '../support/settings.js';

test('every setting of lccd-cu reaches the option it is for', () => {
  const limits = {
    'cu.max_connections': 11,
    'cu.max_connections_per_address': 12,
    'cu.query_timeout_ms': 13,
    'cu.stall_timeout_ms': 14,
    'cu.answer_timeout_ms': 15,
  };
  const others = { 'cu.readers_file': '/somewhere', 'cu.anonymous': 'true', 'bm.machine_id': 'm2' };
  const given = Object.entries(limits).map(([key, value]) => [key, String(value)]);
  const overrides = { ...Object.fromEntries(given), ...others };
  const options = cuOptions(configOf(overrides), Infinity);
  for (const [key, value] of Object.entries(limits))
    assert.equal(valueOf({ cu: options.limits }, key as SettingKey), value, key);
  const { readers, anonymous, machineId } = options;
  assert.deepEqual([readers.path, anonymous, machineId], ['/somewhere', true, 'm2']);
  // Seen by test/commands/lccd, test/web/metrics and test/commands/lccq-content.
  const elsewhere = ['cu.listen', 'cu.metrics_listen', 'cu.max_text_bytes'];
  const { all, named } = settingsOf('cu', [...Object.keys(overrides), ...elsewhere]);
  assert.deepEqual(named, all);
});
