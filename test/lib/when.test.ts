import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseWhen } from '../../src/lib/when.js';

const nowMs = Date.UTC(2026, 10, 20, 12, 0, 0, 500);

describe('a time given by a person', () => {
  for (const [text, iso] of [
    ['2026-11-20T10:13:01Z', '2026-11-20T10:13:01Z'],
    ['2026-11-20T10:13:01+02:00', '2026-11-20T08:13:01Z'],
    ['2026-11-20t10:13:01.9z', '2026-11-20T10:13:01Z'],
    ['2h', '2026-11-20T10:00:00Z'],
    ['90min', '2026-11-20T10:30:00Z'],
    ['3d', '2026-11-17T12:00:00Z'],
    ['1w', '2026-11-13T12:00:00Z'],
    ['1795169581', '2026-11-20T10:13:01Z'],
    ['0', '1970-01-01T00:00:00Z'],
  ] as const) {
    it(`reads ${text}`, () => assert.equal(parseWhen(text, nowMs), Date.parse(iso) / 1000));
  }

  it('takes a date or a time without zone as local time', () => {
    assert.equal(parseWhen('2026-11-20', nowMs), new Date(2026, 10, 20).getTime() / 1000);
    assert.equal(parseWhen('2026-11-20 10:13', nowMs), new Date(2026, 10, 20, 10, 13).getTime() / 1000);
    assert.equal(parseWhen('2026-11-20T10:13:09', nowMs), new Date(2026, 10, 20, 10, 13, 9).getTime() / 1000);
  });

  for (const text of [
    '',
    'yesterday',
    '2h30',
    '-5',
    '2026-02-31',
    '2026-13-01',
    '2026-11-20 25:00',
    '2026-11-20T10:61:00Z',
    '2 h',
  ]) {
    it(`refuses "${text}", naming the accepted forms`, () =>
      assert.throws(() => parseWhen(text, nowMs), { code: 'usage', message: /RFC|write 2026-11-20T/ }));
  }
});
