/** What is said of a fetch that went well. */
import type { FetchOk, FetchUnchanged } from '../wire/fetch.js';
import { charsetOf } from './charset.js';
import { essenceOf, type ResponseHead } from './head.js';
import type { WithoutId } from './job.js';

export type Cost = Pick<FetchOk, 'wireBytes' | 'elapsedMs'>;

export function okOutcome(
  head: ResponseHead,
  found: Cost & Pick<FetchOk, 'md5' | 'len' | 'verified'>,
): WithoutId<FetchOk> {
  const { md5, len, verified, wireBytes, elapsedMs } = found;
  const outcome: WithoutId<FetchOk> = {
    status: 'ok',
    md5,
    len,
    wireBytes,
    elapsedMs,
    http: head.status,
    verified,
  };
  const essence = essenceOf(head.contentType);
  if (essence !== undefined) outcome.mimetype = essence;
  const charset = charsetOf(head.contentType);
  if (charset !== undefined) outcome.charset = charset;
  if (head.lastModified !== undefined) outcome.lastModified = head.lastModified;
  if (head.etag !== undefined) outcome.etag = head.etag;
  return outcome;
}

export function unchangedOutcome(head: ResponseHead, cost: Cost): WithoutId<FetchUnchanged> {
  const outcome: WithoutId<FetchUnchanged> = { status: 'unchanged', ...cost, http: 304 };
  if (head.lastModified !== undefined) outcome.lastModified = head.lastModified;
  if (head.etag !== undefined) outcome.etag = head.etag;
  return outcome;
}
