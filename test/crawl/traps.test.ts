import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { trapOf, type Trap } from '../../src/crawl/traps.js';

const LIMITS = { maxLinkBytes: 200, maxSegments: 20, maxRepeats: 3, maxParameters: 12, year: 2026 };
const trapAt = (rest: string) => trapOf(`http://example.org/${rest}`, LIMITS);

const CAUGHT: readonly (readonly [Trap, string])[] = [
  ['long', 'a'.repeat(200)],
  ['deep', 'a/b/'.repeat(2) + 'c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t'],
  ['repeated', 'a/b/a/c/a/d/a'],
  ['repeated', 'a////'],
  ['escaped', 'a%2525'],
  ['escaped', '?a=%25%20'],
  ['escaped', '?a=1&amp;b=2'],
  ['escaped', '?amp;b=2'],
  ['parameters', `?${Array.from({ length: 13 }, (_, i) => `p${i}`).join('&')}`],
  ['calendar', 'calendar/1989/12'],
  ['calendar', 'calendar/2028'],
  ['calendar', 'en/kalender/2031-05-01'],
  ['calendar', 'events/3000/1/'],
  ['calendar', 'tribe-events/2099-01'],
  ['calendar', 'calendar/2028/'],
  ['calendar', 'kalender/203105'],
  ['calendar', 'cal/20310512'],
  ['calendar', 'events/list/2031-05/'],
  ['calendar', '?year=1969'],
  ['calendar', '?month=203101'],
  ['calendar', 'x?month=2028-01&a=b'],
  ['calendar', '?date=20991231'],
  ['calendar', '?tribe-bar-date=2040-01-01'],
];

const PASSED = [
  '',
  'a'.repeat(150),
  'a/b/a/c/a/d',
  'a///b',
  'a%25b?a=%2520',
  '?a=1&b;amp=2',
  `?${Array.from({ length: 12 }, (_, i) => `p${i}`).join('&')}`,
  'calendar/1990/01',
  'calendar/2027/12',
  'calendar/next',
  'events/5123/a-concert',
  'events/12345',
  'events/1234',
  'events/12345/summer',
  'events/20310512',
  'termine/4711',
  'agenda/203112',
  'events/1234/5',
  'calendar/4711',
  'calendar/12345',
  'kalender/31012024',
  'calendar/2031-13',
  'list?date=31012024',
  'list?month=012024',
  'x?date=1231',
  'x?week=2452',
  'x?day=3112',
  'x?cal=4711',
  '?date=123456',
  'archive/1823/letters',
  'decalendar/3000',
  '?year=2027&month=13',
  '?id=1823',
  '?update=1823',
];

describe('traps', () => {
  for (const [name, rest] of CAUGHT)
    it(`${name}: /${rest.slice(0, 60)}`, () => assert.equal(trapAt(rest), name));

  it('are none of these', () => {
    for (const rest of PASSED) assert.equal(trapAt(rest), undefined, rest);
  });

  it('take no time: a pattern goes over a url once', () => {
    for (const piece of ['calendar-', '/', '%25', '&', 'year=', '2026-'])
      trapOf(`http://example.org/calendar/?${piece.repeat(100_000)}`, { ...LIMITS, maxLinkBytes: 1e6 });
  });
});
