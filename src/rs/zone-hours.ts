/**
 * Hours that a provider permits in the time of its own zone, as hours of the LCC. Both are taken with the
 * offsets that hold now: they are mapped again when either changes. An hour of the LCC of which only a part
 * is permitted is not.
 */
import { hoursOfMask, WEEK_SLOTS, type Hours, type Slots } from '../config/hours.js';

const HOUR_MINUTES = 60;

const DAYS = 7;

/** True if this is a zone that has a name, such as `Europe/Berlin`. */
export function isZone(zone: string): boolean {
  try {
    // Offsets are understood as well, and change with no summer.
    return /^[A-Za-z]/.test(zone) && new Intl.DateTimeFormat('en', { timeZone: zone }).format(0) !== '';
  } catch {
    return false;
  }
}

/** Minutes that a zone is ahead of UTC. */
export function zoneOffsetMinutes(zone: string, atMs: number): number {
  const parts = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' }).formatToParts(
    atMs,
  );
  const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
  const [, sign = '+', hours = '0', minutes = '0'] = /GMT(?:([+-])(\d{2}):(\d{2}))?/.exec(name) ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hours) * HOUR_MINUTES + Number(minutes));
}

/**
 * @param hours of the zone, of the day or of the week
 * @param slots of the LCC, whose zone is that of this process
 */
export function hoursFromZone(hours: Hours, zone: string, slots: Slots, atMs: number): Hours {
  const week = hours.length === WEEK_SLOTS ? hours : hours.repeat(DAYS);
  const aheadMinutes = zoneOffsetMinutes(zone, atMs) + new Date(atMs).getTimezoneOffset();
  const permitted = (minutes: number) => {
    const slot = Math.floor(minutes / HOUR_MINUTES);
    return week[((slot % WEEK_SLOTS) + WEEK_SLOTS) % WEEK_SLOTS] === '1';
  };
  const mapped = Array.from({ length: WEEK_SLOTS }, (_, slot) => {
    const first = slot * HOUR_MINUTES + aheadMinutes;
    return permitted(first) && permitted(first + HOUR_MINUTES - 1) ? '1' : '0';
  }).join('');
  return hoursOfMask(mapped, slots);
}
