import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatAmount, limitText, SETTINGS, type SettingRow } from '../../src/config/settings.js';

const rows: [string, SettingRow][] = Object.entries(SETTINGS);

test('every default lies within its own bounds', () => {
  for (const [key, row] of rows) {
    if (row.type !== 'number') continue;
    assert.ok(Number.isInteger(row.default) && Number.isInteger(row.min) && Number.isInteger(row.max), key);
    assert.ok(row.min <= row.default && row.default <= row.max, key);
  }
});

test('numbers carry their unit in the name, so that nobody has to look it up', () => {
  const ending = { ms: /_ms$/, bytes: /_bytes$/, percent: /_percent$/, bytes_per_s: /_bytes_per_s$/ };
  for (const [key, row] of rows) {
    if (row.type !== 'number') continue;
    if (row.unit !== 'count') assert.match(key, ending[row.unit]);
    else for (const unit of Object.values(ending)) assert.doesNotMatch(key, unit);
  }
});

test('keys are section.name in lower case and every one says what it is for', () => {
  for (const [key, row] of rows) {
    assert.match(key, /^[a-z]+\.[a-z0-9_]+$/);
    assert.match(row.doc, /^\S.{9,}[^.]$/, key);
  }
});

test('amounts are written in the largest unit that keeps them whole', () => {
  assert.equal(formatAmount(64 * 1024, 'bytes'), '64 KB');
  assert.equal(formatAmount(64 * 1024 + 1, 'bytes'), '65537 bytes');
  assert.equal(formatAmount(2 * 1024 ** 3, 'bytes'), '2 GB');
  assert.equal(formatAmount(0, 'bytes'), '0 bytes');
  assert.equal(formatAmount(1024, 'bytes_per_s'), '1 KB/s');
  assert.equal(formatAmount(90_000, 'ms'), '90 s');
  assert.equal(formatAmount(120_000, 'ms'), '2 min');
  assert.equal(formatAmount(86_400_000, 'ms'), '1 d');
  assert.equal(formatAmount(1, 'ms'), '1 ms');
  assert.equal(formatAmount(25, 'percent'), '25 %');
  assert.equal(formatAmount(8000, 'count'), '8000');
});

test('a limit in a refusal names the key that raises it', () => {
  assert.equal(limitText('xml.token_bytes', 65536), '64 KB (xml.token_bytes)');
  assert.equal(limitText('uns.login_timeout_ms', 10_000), '10 s (uns.login_timeout_ms)');
});
