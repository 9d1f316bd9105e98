/** A job for the engine. */
import type { Clock } from '../lib/clock.js';
import type { FetchTerms } from '../wire/fetch.js';
import type { ExchangeLimits } from './exchange-owner.js';
import type { HostPlaces } from './host-places.js';
import type { Links } from './kept-connections.js';
import type { Manners, Wording } from './manners.js';
import type { FetchOutcome } from './outcome.js';
import type { SpeedLimits } from './speed.js';

/** As it is sent: GET, HEAD, PUT, DELETE, PURGE, MKCOL, … Of all but GET and HEAD the answer says what was
 * done. */
export type Method = Uppercase<string>;

/** True if the answer is the thing itself, and asking twice does what asking once does (RFC 9110, 9.2). */
export function isRead(method: Method): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** Sent whole, with its length; from the beginning again when a connection turns out to have been closed. */
export type BodyToSend = { bytes: Uint8Array } | { file: string; length: number };

/**
 * One request. Redirects of GET and HEAD are followed; for other methods they are failures, as every status
 * but 2xx is. Of the others the content of the answer, if there is any, is what the server says about what it
 * did.
 */
export interface FetchJob extends FetchTerms {
  /** Left out: GET. */
  method?: Method;
  body?: BodyToSend;
  /** True if the content is not decoded: nobody looks at it. */
  isRaw?: boolean;
  /** IP address that is connected to, whatever the host of the url resolves to; redirects lead where they
   * say. */
  address?: string;
  /** More header fields, names in lower case and values by turns. `host` is who is meant, where the url only
   * leads there. */
  headers?: readonly string[];
}

/** Events of a fetch for its owner. */
export interface FetchEvents {
  /** Once, and nothing after it. */
  done(outcome: FetchOutcome): void;
  /** The site hardly answers: its fetch goes on, but need not keep others from theirs. At most once. */
  slow?(): void;
}

export interface FetchLimits extends ExchangeLimits, SpeedLimits {
  connectTimeoutMs: number;
  headersTimeoutMs: number;
  idleTimeoutMs: number;
  /** For the rest of an answer after its outcome is known. */
  drainTimeoutMs: number;
  /** The minimum rate, for the message that refuses. */
  minRateText: string;
  totalTimeoutMs: number;
  maxContentBytes: number;
  /** The content limit, for the message that refuses. */
  contentLimitText: string;
  maxRedirects: number;
  /** The limit of redirects, for the message that refuses. */
  redirectLimitText: string;
}

/** Parts that all fetches of an engine share. */
export interface FetchContext {
  links: Links;
  places: HostPlaces;
  limits: FetchLimits;
  manners: Manners;
  wording: Wording;
  clock: Clock;
  /** The fetch has its outcome. */
  ended(fetch: Cancellable): void;
}

export interface Cancellable {
  /** Gives up; the outcome is a failure, unless the content is on its way to its place already. */
  cancel(): void;
}
