/** Kinds of failure of a request. What that means for a url or a site is for the caller to say. */
import { errnoOf, messageOf } from '../lib/errors.js';

/** One kind for each failure that a caller may want to treat differently. */
export type PlainKind =
  /** Not an http or https url, or nothing that a request can be made of. */
  | 'bad-url'
  /** Names of hosts: there is none, or nobody could say now; and what they lead to. */
  | 'dns'
  | 'dns-temporary'
  | 'guard'
  /** The connection: refused, no way there, not in time, closed as soon as it was accepted, otherwise not
   * made. */
  | 'refused'
  | 'unreachable'
  | 'connect-timeout'
  | 'tls'
  | 'connect-failed'
  /** Sockets, files or memory of this machine or process have run out; no site is to blame. */
  | 'exhausted'
  /** Time: to the answer, between two bytes, below the minimum rate, over all. */
  | 'headers-timeout'
  | 'idle-timeout'
  | 'too-slow'
  | 'total-timeout'
  /** The connection went before an answer or in the middle of one; the body ended early; it ended otherwise
   * than was announced. */
  | 'reset'
  | 'cut'
  | 'contradicted'
  /** The content is larger than permitted; all that came is more than any such content takes, or there are no
   * headers in it. */
  | 'too-large'
  | 'flood'
  | 'headers-flood'
  /** Not HTTP; headers beyond their limit, their Content-Length, how the body is framed, too many 1xx, how it
   * is coded. */
  | 'malformed'
  | 'headers-too-big'
  | 'content-length'
  | 'framing'
  | 'interim'
  | 'coding'
  /** A status that is no answer to what was asked. */
  | 'unexpected-status'
  /** Redirects: without Location, with one that leads nowhere, in a circle, too many, where none may go, from
   * https to http. */
  | 'no-location'
  | 'bad-location'
  | 'redirect-loop'
  | 'too-many-redirects'
  | 'redirect-outside'
  | 'redirect-downgrade'
  /** Another type than announced, or than those that are taken; another md5 or length, where these are
   * enforced. */
  | 'other-type'
  | 'unaccepted-type'
  | 'differs'
  | 'cancelled'
  /** An exception in this code. */
  | 'bug';

/** Kinds that mean the same to most callers, by what they have in common. */
const FAMILIES = {
  'no-connection': ['dns', 'dns-temporary', 'refused', 'unreachable', 'connect-timeout', 'connect-failed'],
  silence: ['headers-timeout', 'idle-timeout', 'too-slow'],
  size: ['too-large', 'flood'],
  headers: ['headers-flood', 'headers-too-big'],
  broken: ['reset', 'cut', 'contradicted', 'malformed', 'content-length', 'framing', 'interim', 'coding'],
  redirect: ['redirect-loop', 'too-many-redirects', 'redirect-outside', 'redirect-downgrade'],
  location: ['no-location', 'bad-location'],
  content: ['other-type', 'unaccepted-type', 'differs'],
} as const satisfies Record<string, readonly PlainKind[]>;

type Families = typeof FAMILIES;
type Family = keyof Families;

/** `detail` is a phrase for people that goes with a text for the kind. */
export type FetchFailure =
  | { kind: PlainKind; detail: string }
  /** An error status; for what is not GET or HEAD, a redirect, with where it leads; and one that must be
   * reported, with where it leads. */
  | { kind: 'status'; status: number; retryAfterMs?: number; location?: string }
  /** Where the content goes did not take it. */
  | { kind: 'sink'; error: unknown }
  /** The body to send could not be read. */
  | { kind: 'source'; error: unknown };

/** The family of a kind; one that has none stands for itself. */
export function familyOf<K extends FetchFailure['kind']>(
  kind: K,
): Family | Exclude<K, Families[Family][number]> {
  for (const family of Object.keys(FAMILIES) as Family[])
    if ((FAMILIES[family] as readonly string[]).includes(kind)) return family;
  return kind as Exclude<K, Families[Family][number]>;
}

export function fail(kind: PlainKind, detail: string): FetchFailure {
  return { kind, detail };
}

/**
 * @param retryAfterMs what the site says of when to ask again @param location where it leads to, of a
 * redirect that is not followed
 */
export function failedStatus(
  status: number,
  retryAfterMs: number | undefined,
  location?: string,
): FetchFailure {
  const more = {
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(location !== undefined && { location }),
  };
  return { kind: 'status', status, ...more };
}

/** Carries a failure through code that passes errors on: undici, streams. */
export class FetchError extends Error {
  readonly failure: FetchFailure;
  constructor(failure: FetchFailure) {
    super(failure.kind);
    this.name = 'FetchError';
    this.failure = failure;
  }
}

const EXHAUSTED: readonly string[] = ['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM'];

/** The error's number, when it is that this process or this machine has no more of something. */
export function exhaustionOf(error: unknown): string | undefined {
  const errno = errnoOf(error);
  return errno !== undefined && EXHAUSTED.includes(errno) ? errno : undefined;
}

/** Errnos of a connection that could not be made, by the kind of the failure. */
const KINDS: ReadonlyMap<string, PlainKind> = new Map(
  (
    [
      ['dns', 'ENOTFOUND ENODATA EAI_NONAME'],
      ['dns-temporary', 'EAI_AGAIN EAI_FAIL'],
      ['refused', 'ECONNREFUSED'],
      ['unreachable', 'EHOSTUNREACH EHOSTDOWN ENETUNREACH ENETDOWN EADDRNOTAVAIL EACCES EPERM'],
    ] as const
  ).flatMap(([kind, errnos]) => errnos.split(' ').map(errno => [errno, kind] as const)),
);

/** A connection that could not be made. `tls`: an encrypted one. */
export function connectFailure(error: unknown, peer: string, tls: boolean): FetchFailure {
  if (error instanceof FetchError) return error.failure;
  const cause: unknown =
    errnoOf(error) === undefined && error instanceof AggregateError ? error.errors[0] : error;
  const errno = errnoOf(cause) ?? '';
  if (exhaustionOf(cause) !== undefined) return fail('exhausted', `sockets here (${errno})`);
  const kind = KINDS.get(errno);
  if (kind !== undefined) return fail(kind, `${peer} (${errno})`);
  switch (errno) {
    case 'ETIMEDOUT':
    case 'UND_ERR_CONNECT_TIMEOUT':
      return fail('connect-timeout', `connecting to ${peer}`);
    case 'ECONNRESET':
    case 'ECONNABORTED':
    case 'EPIPE':
      // Accepted, then closed: the same whether that is noticed before the request leaves or after.
      if (!tls) return fail('reset', `${peer}: ${messageOf(error)}`);
      return fail('tls', `${peer}: ${tlsReason(error)}`);
    default:
      return tls
        ? fail('tls', `${peer}: ${tlsReason(error)}`)
        : fail('connect-failed', `connecting to ${peer}: ${messageOf(error)}`);
  }
}

/** OpenSSL's messages carry addresses and source files; `reason` is what a person can use. */
function tlsReason(error: unknown): string {
  if (typeof error === 'object' && error !== null && 'reason' in error && typeof error.reason === 'string')
    return error.reason;
  return messageOf(error);
}

/**
 * A connection that was there and broke, or an answer that is not HTTP. `inBody`: the headers had been read.
 */
export function responseFailure(error: unknown, inBody: boolean, maxHeaderText: string): FetchFailure {
  if (error instanceof FetchError) return error.failure;
  const errno = errnoOf(error) ?? '';
  const message = messageOf(error);
  if (errno === 'UND_ERR_HEADERS_OVERFLOW')
    return inBody
      ? fail('framing', `trailers larger than ${maxHeaderText}`)
      : fail('headers-too-big', `headers larger than ${maxHeaderText}`);
  if (errno === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') return fail('cut', 'the body ended early');
  // undici's parser errors have a name but not always a code.
  if (error instanceof Error && (errno.startsWith('HPE_') || error.name === 'HTTPParserError'))
    return parserFailure(message, inBody);
  if (message === 'bad upgrade') return fail('unexpected-status', 'the server switched protocols');
  if (message === 'bad response') return fail('malformed', message);
  if (errno === 'UND_ERR_INVALID_ARG') return fail('bad-url', message);
  if (errno.startsWith('ERR_SSL_') || errno === 'EPROTO') return fail('tls', tlsReason(error));
  return fail(inBody ? 'cut' : 'reset', message);
}

/** @param message as llhttp has it, in a sentence of undici's */
function parserFailure(message: string, inBody: boolean): FetchFailure {
  if (/\((?:Invalid EOF state|.* EOF)\)/.test(message)) return fail(inBody ? 'cut' : 'reset', message);
  // The character may be a blank: lenient-chunks.ts reads those, and says what is wrong with the rest.
  if (message.includes('(Invalid character in chunk size)')) return fail('malformed', message);
  // A fault after the headers is a chunk, or what follows the last one.
  if (inBody || /\((?:Request has invalid `)?Transfer-Encoding|chunk/i.test(message))
    return fail('framing', message);
  return fail(/Content-Length/i.test(message) ? 'content-length' : 'malformed', message);
}
