import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { zoneNotUnderstood } from '../../src/lib/zone.js';

const zone = process.env['TZ'];
afterEach(() => {
  if (zone === undefined) delete process.env['TZ'];
  else process.env['TZ'] = zone;
});

test('a zone that is read as UTC without naming it is not understood, any other is', () => {
  const notUnderstood = (name: string) => {
    process.env['TZ'] = name;
    return zoneNotUnderstood() !== undefined;
  };
  for (const name of ['CET-1CEST', 'CET-1CEST,M3.5.0,M10.5.0/3', 'Europe/Berlim', '<+03>-3'])
    assert.equal(notUnderstood(name), true, name);
  for (const name of [
    'Europe/Berlin',
    ':Europe/Berlin',
    'EST5',
    'EST5EDT',
    'Africa/Abidjan',
    'Europe/London',
  ])
    assert.equal(notUnderstood(name), false, name);
  for (const name of ['', 'UTC', 'Etc/UTC', 'GMT', 'UTC0', 'Etc/GMT+0', 'Zulu'])
    assert.equal(notUnderstood(name), false, name);
  delete process.env['TZ'];
  assert.equal(zoneNotUnderstood(), undefined);
});
