/** How large a set may be, whatever the quota of its provider is. */
import { Refusal } from '../wire/refusal.js';
import { limitOf, type UnsOptions } from './options.js';

/** @param bytes of the set as it is sent @throws Refusal 106 */
export function demandSetBytes(options: UnsOptions, bytes: number): void {
  if (bytes > options.limits.maxSetBytes)
    throw new Refusal(106, `the set is too big: the limit is ${limitOf(options, 'uns.max_set_bytes')}`);
}

/** @param urls acceptable or not @throws Refusal 106 */
export function demandSetUrls(options: UnsOptions, urls: number): void {
  if (urls > options.limits.maxSetUrls)
    throw new Refusal(106, `too many urls in one set: the limit is ${limitOf(options, 'uns.max_set_urls')}`);
}
