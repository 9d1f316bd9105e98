import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { formatHours, maskOf, type Slots } from '../../src/config/hours.js';
import { wishesOf } from '../../src/rs/wishes.js';
import { hoursFromZone, isZone, zoneOffsetMinutes } from '../../src/rs/zone-hours.js';
import { RsScene } from './support.js';

const JANUARY = Date.UTC(2026, 0, 15, 12);
const JULY = Date.UTC(2026, 6, 15, 12);
const HOME = process.env['TZ'];

afterEach(() => {
  if (HOME === undefined) delete process.env['TZ'];
  else process.env['TZ'] = HOME;
});

/** What an LCC in a zone makes of hours in another one. */
function mapped(lcc: string, hours: string, zone: string, atMs: number, slots: Slots = 24): string {
  process.env['TZ'] = lcc;
  return formatHours(hoursFromZone(maskOf(hours), zone, slots, atMs));
}

test('hours of another zone are those of the LCC at the same moments, in summer and in winter', () => {
  assert.equal(mapped('UTC', '0-5', 'America/New_York', JANUARY), '5-10');
  assert.equal(mapped('UTC', '0-5', 'America/New_York', JULY), '4-9');
  assert.equal(mapped('Europe/Berlin', '0-5', 'America/New_York', JANUARY), '6-11');
  assert.equal(mapped('America/New_York', '22-23', 'Europe/Berlin', JANUARY), '16-17');
  assert.equal(mapped('UTC', '20-3', 'Asia/Tokyo', JANUARY), '11-18');
  assert.equal(mapped('UTC', '0-5', 'UTC', JULY), '0-5');
  // Two weeks in which only one of them has summer time.
  assert.equal(mapped('Europe/Berlin', '0', 'America/New_York', Date.UTC(2026, 2, 20)), '5');
});

test('an hour that is permitted in part only is not used', () => {
  assert.equal(mapped('UTC', '0-5', 'Asia/Kolkata', JANUARY), '19-23');
  assert.equal(mapped('UTC', '9', 'Asia/Kolkata', JANUARY), 'never');
  assert.equal(mapped('UTC', '9-10', 'Asia/Kathmandu', JANUARY), '4');
  assert.equal(mapped('Asia/Kolkata', '9', 'Asia/Kolkata', JANUARY), '9');
});

test('hours of the week go over its end, and are read strictly where the LCC knows hours of the day only', () => {
  // Monday 0 h in Tokyo is Sunday 15 h in UTC.
  assert.equal(mapped('UTC', '0-167', 'Asia/Tokyo', JANUARY, 168), '0-167');
  const monday = '0-1,48';
  assert.equal(mapped('UTC', monday, 'Asia/Tokyo', JANUARY, 168), '39,159-160');
  assert.equal(mapped('UTC', monday, 'Asia/Tokyo', JANUARY, 24), 'never');
});

test('hours that are none are refused with those that are accepted', () => {
  const refusal = (hours: string, slots: Slots): string => {
    try {
      wishesOf({ hours }, slots, JANUARY);
      return 'accepted';
    } catch (error) {
      return (error as Error).message;
    }
  };
  const ofDay = 'give hours of the day, 0 to 23, such as 0-7,22-23, or always';
  const tooFine = `this cache knows the hours of a day, and hours over 23 are those of a week; ${ofDay}`;
  assert.equal(refusal('0-99', 24), tooFine);
  assert.equal(refusal('0-200', 24), `the hours are none; ${ofDay}`);
  assert.match(
    refusal('x', 168),
    /; give hours of the day, 0 to 23, or of the week, 0 to 167 from Monday on, such as /,
  );
  assert.equal(refusal('0-99', 168), 'accepted');
});

test('a zone is one that has a name', () => {
  for (const zone of ['Asia/Kolkata', 'Europe/Berlin', 'UTC', 'America/Argentina/Buenos_Aires'])
    assert.ok(isZone(zone), zone);
  for (const zone of ['', 'Berlin', '+05:30', 'Mars/Base', '../etc/passwd', 'Europe/Berlin\n'])
    assert.ok(!isZone(zone), zone);
  assert.equal(zoneOffsetMinutes('Asia/Kathmandu', JULY), 345);
  assert.equal(zoneOffsetMinutes('America/St_Johns', JANUARY), -210);
});

test('hours are mapped again when an offset has changed, and only then', async () => {
  process.env['TZ'] = 'UTC';
  const scene = await RsScene.start({ 'rs.mode': 'open' });
  try {
    const at = (ms: number) => (scene.clock.byMs += ms - scene.clock.nowMs());
    at(JANUARY);
    const wishes = { hours: '0-5', zone: 'America/New_York' };
    const pair = scene.registrar.issue(scene.site.urlOf('/'), wishes, 'x');
    scene.place(pair);
    await scene.registrar.check(pair.capability);
    const [first] = scene.db.outbox.waiting(9);
    assert.ok(first?.change.op === 'register');
    assert.equal(formatHours(first.change.timeofday ?? ''), '5-10');
    scene.transitions.settle(first, { ok: {} }, 1);
    assert.equal(scene.transitions.mapHours(), false);
    at(JULY);
    // The registration is forgotten by then; its provider is not.
    scene.transitions.tidy(0, 3650 * 86_400_000);
    assert.equal(scene.db.registrations.get(first.registration), undefined);
    assert.equal(scene.transitions.mapHours(), true);
    assert.equal(scene.transitions.mapHours(), false);
    const [again] = scene.db.outbox.waiting(9);
    assert.ok(again?.change.op === 'terms');
    assert.deepEqual([again.change.pid, formatHours(again.change.timeofday ?? '')], [100_000, '4-9']);
    assert.deepEqual([first.isQuiet, again.isQuiet], [false, true], 'nobody has changed the terms');
    scene.transitions.settle(again, { ok: {} }, 1);
    assert.equal(scene.db.outbox.count(), 0);
  } finally {
    scene.close();
  }
});
