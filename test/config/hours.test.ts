import fc from 'fast-check';
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import {
  bothOf,
  hourEndMs,
  hoursOfMask,
  hoursOfSlots,
  hoursOfTod,
  isNever,
  nextSlot,
  opensAtMs,
  permits,
  slotOf,
  slotsBegun,
  type Slots,
} from '../../src/config/hours.js';

const HOUR = 3_600_000;
const zone = process.env['TZ'];
const inZone = (name: string) => void (process.env['TZ'] = name);
afterEach(() => {
  if (zone === undefined) delete process.env['TZ'];
  else process.env['TZ'] = zone;
});

/** The slots that are permitted. */
const shown = (hours: string) => Array.from(hours, (flag, slot) => (flag === '1' ? [slot] : [])).flat();

test('a slot is the hour of the day or of the week, Monday first, where the LCC is', () => {
  inZone('Europe/Berlin');
  const monday = Date.UTC(2026, 5, 1, 22, 30);
  assert.equal(slotOf(monday, 24), 0);
  assert.equal(slotOf(monday, 168), 24);
  assert.equal(slotOf(Date.UTC(2026, 5, 7, 21, 59), 168), 167);
  assert.equal(slotOf(Date.UTC(2026, 5, 7, 22, 0), 168), 0);
});

test('hours end where the clock on the wall says so, also half an hour off', () => {
  inZone('Asia/Kolkata');
  const at = Date.UTC(2026, 0, 1, 18, 29, 59, 999);
  assert.equal(slotOf(at, 24), 23);
  assert.equal(hourEndMs(at), at + 1);
  assert.equal(slotOf(at + 1, 24), 0);
  inZone('Asia/Kathmandu');
  assert.equal(hourEndMs(Date.UTC(2026, 0, 1, 10, 0)), Date.UTC(2026, 0, 1, 10, 15));
});

test('masks of the day repeat each day; masks of the week are read strictly where only the day is known', () => {
  const day = '1'.padStart(4, '0').padEnd(24, '0');
  assert.deepEqual(shown(hoursOfMask(day, 24)), [3]);
  assert.deepEqual(shown(hoursOfMask(day, 168)), [3, 27, 51, 75, 99, 123, 147]);
  const weekend = '0'.repeat(120) + '1'.repeat(48);
  assert.deepEqual(shown(hoursOfMask(weekend, 24)), []);
  const nights = ('1'.repeat(6) + '0'.repeat(18)).repeat(7);
  assert.deepEqual(shown(hoursOfMask(nights, 24)), [0, 1, 2, 3, 4, 5]);
  assert.equal(hoursOfMask('', 168), '');
});

test('tod is read as ranges that may wrap, of the day unless one is over 23', () => {
  assert.deepEqual(shown(hoursOfTod('0-2,12', 24)), [0, 1, 2, 12]);
  assert.deepEqual(shown(hoursOfTod('22-1', 24)), [0, 1, 22, 23]);
  assert.equal(shown(hoursOfTod('7', 168)).length, 7);
  assert.deepEqual(shown(hoursOfTod('166-1', 168)), [0, 1, 166, 167]);
  assert.deepEqual(shown(hoursOfTod('30-40', 24)), []);
  assert.equal(shown(hoursOfTod('0-167', 24)).length, 24);
});

test('what is permitted next is permitted, nothing before it is, and it is never more than a period ahead', () => {
  const slots = fc.constantFrom<Slots>(24, 168);
  const mask = (n: number) => fc.array(fc.constantFrom('0', '1'), { minLength: n, maxLength: n });
  fc.assert(
    fc.property(
      slots.chain(n => fc.tuple(fc.constant(n), mask(n), mask(n), fc.nat(n - 1))),
      ([n, a, b, from]) => {
        const hours = bothOf(a.join(''), b.join(''));
        for (let slot = 0; slot < n; slot++)
          assert.equal(permits(hours, slot), a[slot] === '1' && b[slot] === '1');
        const next = nextSlot(hours, from, n);
        if (next === undefined) return assert.ok(!hours.includes('1'));
        assert.ok(permits(hours, next));
        for (let slot = (from + 1) % n; slot !== next; slot = (slot + 1) % n)
          assert.ok(!permits(hours, slot));
        return undefined;
      },
    ),
  );
});

test('every slot that begins is named, the hour that summer time leaves out too, that of winter time once', () => {
  inZone('Europe/Berlin');
  const evening = Date.UTC(2026, 2, 28, 22, 30);
  assert.deepEqual(slotsBegun(evening, evening + 2 * HOUR, 24), [0, 1]);
  assert.deepEqual(slotsBegun(Date.UTC(2026, 2, 29, 0, 30), Date.UTC(2026, 2, 29, 1, 0), 24), [2, 3]);
  assert.deepEqual(slotsBegun(Date.UTC(2026, 9, 25, 0, 59), Date.UTC(2026, 9, 25, 1, 0), 24), []);
  assert.deepEqual(slotsBegun(Date.UTC(2026, 9, 25, 1, 59), Date.UTC(2026, 9, 25, 2, 0), 24), [3]);
  const all = Array.from({ length: 24 }, (_, i) => i);
  assert.deepEqual(
    slotsBegun(evening, evening - HOUR, 24).toSorted((a, b) => a - b),
    all,
  );
  assert.deepEqual(
    slotsBegun(evening, evening + 40 * HOUR, 24).toSorted((a, b) => a - b),
    all,
  );
});

test('looked at in any steps, in any zone, through any change of time: each slot is named when it is there', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata', 'UTC'),
      fc.constantFrom<Slots>(24, 168),
      fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2026, 11, 31) }),
      fc.array(fc.integer({ min: 1, max: 90 * 60_000 }), { minLength: 1, maxLength: 40 }),
      (name, slots, startMs, steps) => {
        inZone(name);
        let atMs = startMs;
        for (const step of steps) {
          const before = slotOf(atMs, slots);
          const begun = slotsBegun(atMs, atMs + step, slots);
          atMs += step;
          const now = slotOf(atMs, slots);
          assert.ok(now === before || begun.includes(now));
          assert.ok(hourEndMs(atMs) > atMs && hourEndMs(atMs) <= atMs + HOUR);
        }
      },
    ),
  );
});

test('a clock that is put right by a moment begins no hour, unless that was just before', () => {
  const atMs = Date.UTC(2026, 5, 1, 8, 30);
  assert.deepEqual(slotsBegun(atMs, atMs - 5, 24), []);
  assert.equal(slotsBegun(atMs, atMs - HOUR, 24).length, 24);
  const hourMs = Date.UTC(2026, 5, 1, 8);
  assert.equal(slotsBegun(hourMs, hourMs - 1, 24).length, 24);
});

test('an hour that a change of the clocks leaves out, or has twice, begins a period later', () => {
  inZone('Europe/Vienna');
  // At 2 h on Sunday, March 28, clocks go to 3 h; on October 31 they go back from 3 h to 2 h.
  const local = (month: number, day: number, hour: number) => new Date(2027, month - 1, day, hour).getTime();
  const spring = local(3, 27, 23);
  assert.equal(opensAtMs(hoursOfSlots([2], 24), spring, 24), local(3, 29, 2));
  assert.equal(opensAtMs(hoursOfSlots([146], 168), spring, 168), local(4, 4, 2));
  assert.equal(opensAtMs(hoursOfSlots([3], 24), spring, 24), local(3, 28, 3));
  assert.equal(opensAtMs(hoursOfSlots([1], 24), local(10, 31, 1), 24), local(11, 1, 1));
});

test('hours open at the next full hour that is permitted, a period later at the latest, or never', () => {
  const now = new Date(2026, 10, 20, 13, 30).getTime();
  const at = (day: number, hour: number) => new Date(2026, 10, day, hour).getTime();
  assert.equal(opensAtMs(hoursOfSlots([3, 22], 24), now, 24), at(20, 22));
  assert.equal(opensAtMs(hoursOfSlots([13], 24), now, 24), at(21, 13));
  assert.equal(opensAtMs(hoursOfSlots([0], 168), now, 168), at(23, 0));
  assert.equal(opensAtMs(hoursOfSlots([], 24), now, 24), undefined);
  assert.deepEqual([hoursOfSlots([], 24), '', hoursOfSlots([5], 24)].map(isNever), [true, false, false]);
});
