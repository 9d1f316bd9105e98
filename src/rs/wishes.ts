/** Wishes of an applicant besides a site: a bandwidth, and hours of the day. */
import { formatAmount, parseAmount } from '../config/amounts.js';
import { limitText } from '../config/settings/index.js';
import {
  areRanges,
  hoursOfMask,
  isNever,
  isTooFine,
  maskOf,
  type Hours,
  type Slots,
} from '../config/hours.js';
import type { Wishes } from '../db/rs/registrations.js';
import { RsRequestRefused } from './refusal.js';
import { hoursFromZone, isZone } from './zone-hours.js';

/** As an applicant writes them; '' and undefined: nothing is wished. */
export interface WrittenWishes {
  /** Bytes per second, as `500KB`. */
  bandwidth?: string | undefined;
  /** Hours of the day or of the week, as `0-7,22-23`. */
  hours?: string | undefined;
  /** Zone of the hours; without one they are of the LCC's own. */
  zone?: string | undefined;
}

/**
 * @param slots of the LCC
 * @throws RsRequestRefused 400
 */
export function wishesOf(
  { bandwidth = '', hours = '', zone = '' }: WrittenWishes,
  slots: Slots,
  nowMs: number,
): Wishes {
  const wishes: Wishes = {};
  if (bandwidth !== '') {
    const value = Math.floor(parseAmount(bandwidth, 'bytes_per_s') ?? 0);
    if (value < 1 || !Number.isSafeInteger(value))
      throw new RsRequestRefused(
        400,
        'bandwidth',
        'the bandwidth is none',
        'give bytes a second, such as 500KB',
      );
    wishes.bandwidth = value;
  }
  if (zone !== '' && !isZone(zone))
    throw new RsRequestRefused(400, 'zone', 'the time zone is none', 'give a name such as Europe/Berlin');
  if (hours === '' || hours === 'always') return wishes;
  if (!areRanges(hours)) throw noHours('the hours are none', slots);
  wishes.hours = maskOf(hours);
  if (zone !== '') wishes.zone = zone;
  if (!isNever(timeofdayOf(wishes, slots, nowMs))) return wishes;
  // Hours of the week, where an hour counts if it is permitted on every day.
  if (isTooFine(wishes.hours, slots))
    throw noHours('this cache knows the hours of a day, and hours over 23 are those of a week', slots);
  throw new RsRequestRefused(
    400,
    'hours',
    'no whole hour of this cache lies in them',
    'permit two hours in a row',
  );
}

function noHours(what: string, slots: Slots): RsRequestRefused {
  const accepted = slots === 24 ? '' : ', or of the week, 0 to 167 from Monday on';
  return new RsRequestRefused(
    400,
    'hours',
    what,
    `give hours of the day, 0 to 23${accepted}, such as 0-7,22-23, or always`,
  );
}

/** As forms begin. */
export function bandwidthText(bandwidth: number): string {
  return formatAmount(bandwidth, 'bytes_per_s').replaceAll(' ', '');
}

/**
 * @param most bytes a second that a provider may choose itself; 0: as it likes
 * @throws RsRequestRefused 400 for more: it is said, and not made less in silence
 */
export function requireWithin({ bandwidth }: { bandwidth?: number | undefined }, most: number): void {
  if (bandwidth === undefined || most === 0 || bandwidth <= most) return;
  throw new RsRequestRefused(
    400,
    'bandwidth',
    `that is faster than this cache fetches from new sites: the limit is ${limitText('rs.bandwidth_bytes_per_s', most)}`,
    'give less, or ask the operator of this LCC',
  );
}

/** The hours of the LCC that the wishes permit now. */
export function timeofdayOf(
  { hours, zone }: Pick<Wishes, 'hours' | 'zone'>,
  slots: Slots,
  nowMs: number,
): Hours {
  if (hours === undefined) return '';
  return zone === undefined ? hoursOfMask(hours, slots) : hoursFromZone(hours, zone, slots, nowMs);
}
