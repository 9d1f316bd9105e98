/** What comes of a request. */
import { charsetOf } from './charset.js';
import type { FetchFailure } from './failure.js';
import { essenceOf, type ResponseHead } from './head.js';

export interface Cost {
  /** Bytes received over the wire, headers and all hops included. */
  wireBytes: number;
  elapsedMs: number;
}

/** What was asked for has been done; its content, if it has any, is in the sink. */
export interface Fetched extends Cost {
  status: 'ok';
  /** Of the content as it went into the sink: lower-case hex. HEAD has no content: ''. */
  md5: string;
  len: number;
  http: number;
  /** False: the body ended by close and neither length nor md5 confirm that it is whole. */
  verified: boolean;
  mimetype?: string;
  charset?: string;
  lastModified?: string;
  etag?: string;
  /** Where redirects led. */
  finalUrl?: string;
  /** The length that the server states, of the content as coded: all that HEAD reports of it. */
  contentLength?: number;
}

/** What the caller has is still the same. */
export interface Unchanged extends Cost {
  status: 'unchanged';
  http: 304;
  lastModified?: string;
  etag?: string;
}

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
