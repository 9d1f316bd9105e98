/** What an applicant asks for besides a site: a bandwidth, and hours of the day. */
import { parseAmount } from '../config/amounts.js';
import { areRanges, isNever, maskOf } from '../config/hours.js';
import type { Wishes } from '../db/rs/registrations.js';
import { RsRequestRefused } from './refusal.js';

/**
 * @param bandwidth such as `500KB`, bytes per second
 * @param hours such as `0-7,22-23`, of the day or of the week, in the time of the LCC
 * @throws RsRequestRefused 400
 */
export function wishesOf(bandwidth: string | undefined, hours: string | undefined): Wishes {
  const wishes: Wishes = {};
  if (bandwidth !== undefined && bandwidth !== '') {
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
  if (hours !== undefined && hours !== '' && hours !== 'always') {
    if (!areRanges(hours) || isNever(maskOf(hours)))
      throw new RsRequestRefused(
        400,
        'hours',
        'the hours are none',
        'give hours such as 0-7,22-23, or always',
      );
    wishes.timeofday = maskOf(hours);
  }
  return wishes;
}
