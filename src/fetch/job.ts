/** What a fetch is given and what comes of it. */
import type { Clock } from '../lib/clock.js';
import type { FetchDone, FetchRequest } from '../wire/fetch.js';
import type { ExchangeLimits } from './exchange-owner.js';
import type { Fetch } from './fetch.js';
import type { HostPlaces } from './host-places.js';
import type { Links } from './links.js';
import type { PaceLimits } from './pace.js';
import type { FileWriter } from '../bot/writer.js';

/** What to fetch and where to put it. Without roots, redirects may lead to any permitted address. */
export type FetchJob = Omit<FetchRequest, 'id' | 'lane'> & (IntoFile | IntoSink);

interface IntoFile {
  /** Destination; its directory is made if missing, an existing file is replaced. */
  file: string;
  sink?: undefined;
}

interface IntoSink {
  /** Given the content, decoded, as it comes. What it got counts only if the result is `ok`; an exception is code 613. */
  sink: (chunk: Uint8Array) => void;
}

/** A result without the number of its request, which is the conversation's. */
export type WithoutId<T> = T extends unknown ? Omit<T, 'id'> : never;
export type FetchOutcome = WithoutId<FetchDone>;

export interface FetchLimits extends ExchangeLimits, PaceLimits {
  connectTimeoutMs: number;
  headersTimeoutMs: number;
  idleTimeoutMs: number;
  /** Rest of an answer whose outcome is known. */
  drainTimeoutMs: number;
  /** The minimum rate, for the message that refuses. */
  minRateText: string;
  totalTimeoutMs: number;
  maxContentBytes: number;
  maxRedirects: number;
  /** The content limit, for the message that refuses. */
  contentLimitText: string;
}

/** What a fetch asks, and tells, an owner with more to do. */
export interface FetchAhead {
  /** Whether there is other work meanwhile. */
  busy(): boolean;
  /** Whether somebody waits for this one: it is not to wait for others on its way to its place. */
  isAwaited(): boolean;
  /** The site hardly answers: its fetch goes on, but need not keep others from theirs. At most once. */
  slow(): void;
  /** Nothing more is asked of the site; the content is on its way to its place. */
  received(): void;
}

/** What all fetches of an engine share. */
export interface FetchContext {
  links: Links;
  places: HostPlaces;
  limits: FetchLimits;
  userAgent: string;
  syncContent: boolean;
  clock: Clock;
  writer: FileWriter;
  /** A name no other attempt has. */
  nextAttempt(): string;
  /** Whether enough fetches are under way for content to be written beside them. */
  isBusy(): boolean;
  /** It has its outcome. */
  ended(fetch: Fetch): void;
}
