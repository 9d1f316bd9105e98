import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  canonicalMtime,
  formatMtime,
  parseMtime,
  printedOf,
  secondsOfPrinted,
} from '../../src/wire/mtime.js';

const SECONDS = Date.UTC(2026, 10, 6, 8, 49, 37) / 1000;

test('reads every form the protocol admits', () => {
  for (const text of [
    '2026-11-06T08:49:37Z',
    '2026-11-06t08:49:37z',
    '2026-11-06 08:49:37Z',
    '2026-11-06T08:49:37.999Z',
    '2026-11-06T10:49:37+02:00',
    '2026-11-05T23:19:37-09:30',
    String(SECONDS),
    `${SECONDS}.987654321`,
    `${SECONDS}.`,
    '20261106084937',
    'Fri, 06 Nov 2026 08:49:37 GMT',
    'Friday, 06-Nov-26 08:49:37 GMT',
    'Fri Nov  6 08:49:37 2026',
  ]) {
    assert.equal(parseMtime(text), SECONDS, text);
    assert.equal(canonicalMtime(text), '2026-11-06T08:49:37Z', text);
  }
});

test('two-digit years are of this century below 70', () => {
  assert.equal(parseMtime('Sunday, 06-Nov-94 08:49:37 GMT'), Date.UTC(1994, 10, 6, 8, 49, 37) / 1000);
  assert.equal(parseMtime('Sunday, 06-Nov-69 08:49:37 GMT'), Date.UTC(2069, 10, 6, 8, 49, 37) / 1000);
});

test('times before 1970 and leap seconds are times', () => {
  assert.equal(parseMtime('-1'), -1);
  assert.equal(parseMtime('1969-12-31T23:59:59Z'), -1);
  assert.equal(parseMtime('2016-12-31T23:59:60Z'), Date.UTC(2017, 0, 1) / 1000);
  assert.equal(parseMtime('0000-01-01T00:00:00Z'), Date.parse('0000-01-01T00:00:00Z') / 1000);
});

test('leaves alone what is no time', () => {
  for (const text of [
    '',
    'yesterday',
    '2026-11-06',
    '2026-11-06T08:49:37',
    '2026-13-06T08:49:37Z',
    '2026-02-29T08:49:37Z',
    '2026-11-00T08:49:37Z',
    '2026-11-06T24:00:00Z',
    '2026-11-06T08:60:37Z',
    '2026-11-06T08:49:61Z',
    '2026-11-06T08:49:37+24:00',
    '20261306084937',
    '2026110608493',
    '1e9',
    '0x10',
    ' 1',
    '999999999999',
    'Fri, 32 Nov 2026 08:49:37 GMT',
    'Fri, 06 Nov 2026 08:49:37 CET',
    '2026-11-06T08:49:37Z\n',
  ]) {
    assert.equal(parseMtime(text), undefined, text);
    assert.equal(canonicalMtime(text), text);
  }
});

test('the printed form is read and written as any other', () => {
  fc.assert(
    fc.property(fc.integer({ min: -62_167_219_200, max: 253_402_300_799 }), seconds => {
      assert.equal(secondsOfPrinted(formatMtime(seconds)), seconds);
      assert.equal(printedOf(seconds), formatMtime(seconds));
    }),
  );
});

test('what is printed is read back', () => {
  fc.assert(
    fc.property(fc.integer({ min: -62_167_219_200, max: 253_402_300_799 }), seconds => {
      assert.equal(parseMtime(formatMtime(seconds)), seconds);
      assert.equal(canonicalMtime(formatMtime(seconds)), formatMtime(seconds));
    }),
  );
});

test('a year of five digits cannot be printed', () => {
  assert.throws(() => formatMtime(253_402_300_800), RangeError);
});
