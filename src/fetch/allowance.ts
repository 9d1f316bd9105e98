/** How much may be received for one fetch, whatever it is: answers that have no end are cut. */
import { fail, type FetchFailure } from './failure.js';

/**
 * Bytes that may come beside twice the content: headers, redirects, codings that make small things larger.
 */
const OVERHEAD_BYTES = 64 * 1024;

/** Bytes that may come in all, of every answer of the fetch. */
export function allowanceBytes(maxContentBytes: number): number {
  return 2 * maxContentBytes + OVERHEAD_BYTES;
}

/** @param limitText the limit of the content, as it is set @param hasHead headers were among it */
export function flood(limitText: string, hasHead: boolean): FetchFailure {
  return fail(
    hasHead ? 'flood' : 'headers-flood',
    `twice ${limitText} and 64 KB have come, and there is no end`,
  );
}
