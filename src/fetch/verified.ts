/** Whether a content is known to be whole. */
import type { ResponseHead } from './head.js';

/**
 * A body that ends when its connection closes may have been cut: it is whole if its announced md5 or length says so.
 * @param isBodiless there is none, whatever the head says
 */
export function isVerified(
  head: ResponseHead,
  isBodiless: boolean,
  { isMd5Equal, isLengthEqual }: { isMd5Equal: boolean; isLengthEqual: boolean },
): boolean {
  return !head.endsByClose || isBodiless || isMd5Equal || isLengthEqual;
}
