import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limitText, SETTINGS, type SettingRow } from '../../src/config/settings/index.js';

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

test('a limit in a refusal names the key that raises it', () => {
  assert.equal(limitText('xml.token_bytes', 65536), '64 KB (xml.token_bytes)');
  assert.equal(limitText('uns.login_timeout_ms', 10_000), '10 s (uns.login_timeout_ms)');
});
