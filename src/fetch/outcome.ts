/** Outcomes of a request. */
import type { FetchUnchanged, RobotOk } from '../wire/fetch.js';
import type { FetchFailure } from './failure.js';
import { essenceOf, type ResponseHead } from './head.js';
import type { Redirects } from './redirects.js';
import { MIMEType } from 'node:util';
import { charsetNamed } from '../lib/charset.js';

/** Cost of a request: bytes received over the wire, headers and all hops included, and time. */
export type Cost = Pick<RobotOk, 'wireBytes' | 'elapsedMs'>;

/** The request has been done; its content, if it has any, is in the sink. HEAD has none: its md5 is ''. */
export interface Fetched extends Omit<RobotOk, 'id'> {
  /** The length that the server states, of the content as coded: all that HEAD reports of it. */
  contentLength?: number;
  /** There was more of it than may be taken. */
  isCut?: boolean;
  /** `Link` of the answer. */
  link?: string;
  /** `X-Cache` of the answer: whether a cache had it. */
  cache?: string;
  /** The url that stands for the one asked for from now on, as the site says (301, 308). */
  movedTo?: string;
}

/** The content that the caller has is still the same. */
export type Unchanged = Omit<FetchUnchanged, 'id'>;

export interface Failed extends Cost {
  status: 'error';
  failure: FetchFailure;
  /** The last status that came, 1xx included; left out: none did. */
  http?: number;
  /** A redirect was followed. */
  isRedirected?: boolean;
}

export type FetchOutcome = Fetched | Unchanged | Failed;

export function fetchedOf(
  head: ResponseHead,
  found: Cost & Pick<Fetched, 'md5' | 'len' | 'completeness'>,
): Fetched {
  const { md5, len, completeness, wireBytes, elapsedMs } = found;
  const outcome: Fetched = { status: 'ok', md5, len, wireBytes, elapsedMs, http: head.status, completeness };
  const essence = essenceOf(head.contentType);
  if (essence !== undefined) outcome.mimetype = essence;
  const charset = charsetOf(head.contentType);
  if (charset !== undefined) outcome.charset = charset;
  for (const name of ['lastModified', 'modifiedNow', 'etag', 'cache', 'robots', 'link'] as const)
    if (head[name] !== undefined) outcome[name] = head[name];
  return outcome;
}

export function unchangedOf(head: ResponseHead, cost: Cost): Unchanged {
  const outcome: Unchanged = { status: 'unchanged', ...cost, http: 304 };
  if (head.lastModified !== undefined) outcome.lastModified = head.lastModified;
  if (head.etag !== undefined) outcome.etag = head.etag;
  return outcome;
}

/** @param http the last status that came; 0: none did */
export function failedOf(
  failure: FetchFailure,
  { wireBytes, elapsedMs }: Cost,
  http: number,
  redirects: Redirects | undefined,
): Failed {
  const outcome: Failed = { status: 'error', failure, wireBytes, elapsedMs };
  if (http > 0) outcome.http = http;
  if (redirects?.wereFollowed === true) outcome.isRedirected = true;
  return outcome;
}

/** Encodings of types that were read lately: types repeat. */
const known = new Map<string, string | undefined>();
const MAX_KNOWN = 100;
/** Longer ones are nothing but hostile. */
const MAX_LENGTH = 1000;

/**
 * The encoding that a server says a text is in.
 * `windows-1252` of `text/html; charset="ISO-8859-1"`; undefined when it names none that is known.
 */
function charsetOf(contentType: string | undefined): string | undefined {
  // Most say nothing of it.
  if (contentType === undefined || contentType.length > MAX_LENGTH || !contentType.includes(';'))
    return undefined;
  if (!known.has(contentType)) {
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(contentType, readCharset(contentType));
  }
  return known.get(contentType);
}

function readCharset(contentType: string): string | undefined {
  try {
    const label = new MIMEType(contentType).params.get('charset');
    return label === null ? undefined : charsetNamed(label);
  } catch {
    // Not a media type at all.
    return undefined;
  }
}
