/** What comes of a request. */
import type { FetchUnchanged, RobotOk } from '../wire/fetch.js';
import { charsetOf } from './charset.js';
import type { FetchFailure } from './failure.js';
import { essenceOf, type ResponseHead } from './head.js';

/** What it took: bytes received over the wire, headers and all hops included, and time. */
export type Cost = Pick<RobotOk, 'wireBytes' | 'elapsedMs'>;

/** What was asked for has been done; its content, if it has any, is in the sink. HEAD has none: its md5 is ''. */
export interface Fetched extends Omit<RobotOk, 'id'> {
  /** The length that the server states, of the content as coded: all that HEAD reports of it. */
  contentLength?: number;
}

/** What the caller has is still the same. */
export type Unchanged = Omit<FetchUnchanged, 'id'>;

export interface Failed extends Cost {
  status: 'error';
  failure: FetchFailure;
}

export type FetchOutcome = Fetched | Unchanged | Failed;

export function fetchedOf(
  head: ResponseHead,
  found: Cost & Pick<Fetched, 'md5' | 'len' | 'verified'>,
): Fetched {
  const { md5, len, verified, wireBytes, elapsedMs } = found;
  const outcome: Fetched = { status: 'ok', md5, len, wireBytes, elapsedMs, http: head.status, verified };
  const essence = essenceOf(head.contentType);
  if (essence !== undefined) outcome.mimetype = essence;
  const charset = charsetOf(head.contentType);
  if (charset !== undefined) outcome.charset = charset;
  if (head.lastModified !== undefined) outcome.lastModified = head.lastModified;
  if (head.etag !== undefined) outcome.etag = head.etag;
  return outcome;
}

export function unchangedOf(head: ResponseHead, cost: Cost): Unchanged {
  const outcome: Unchanged = { status: 'unchanged', ...cost, http: 304 };
  if (head.lastModified !== undefined) outcome.lastModified = head.lastModified;
  if (head.etag !== undefined) outcome.etag = head.etag;
  return outcome;
}
