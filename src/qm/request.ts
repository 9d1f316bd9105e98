/** A row of the queue as the request a robot gets. */
import { agrees } from '../db/cache/as-announced.js';
import type { Held } from '../db/cache/content.js';
import { isGated, UNASKED, type WaitingRow } from '../db/queue/row.js';
import type { WaitingSet } from '../db/queue/sets.js';
import type { ScheduledProvider } from '../db/providers/provider-store.js';
import { codeText, type OUTSIDE_ROOTS, type ROBOTS_FORBID } from '../wire/codes.js';
import { AS_SERVED } from '../wire/url.js';
import type { FetchFailed, FetchRequest } from '../wire/fetch.js';

/** Validators of a conditional request: held content is its base when it is whole and no word of the CP
 * contradicts it. */
export function validatorsOf(
  row: WaitingRow,
  held: Held | undefined,
  enforced: boolean,
): Pick<FetchRequest, 'lastModified' | 'etag'> {
  if (held === undefined || held.verified === 0 || !agrees(row, held, enforced)) return {};
  return {
    ...(held.lastmodified === null ? undefined : { lastModified: held.lastmodified }),
    ...(held.etag === null ? undefined : { etag: held.etag }),
  };
}

/** Terms of every request to a provider's site. */
export type SiteTerms = Pick<
  FetchRequest,
  'roots' | 'enforce' | 'maxBytes' | 'timeoutMs' | 'userAgent' | 'login'
> & {
  /** Types that are taken of what is wanted as served. */
  accept: readonly string[];
};

export function siteTermsOf(
  provider: ScheduledProvider,
  roots: readonly string[],
  accept: readonly string[],
): SiteTerms {
  const { enforce, maxlen, fetchtimeout, useragent, login } = provider;
  const terms: SiteTerms = { roots, accept };
  if (enforce !== 0) terms.enforce = true;
  if (maxlen !== null) terms.maxBytes = maxlen;
  if (fetchtimeout !== null) terms.timeoutMs = fetchtimeout;
  if (useragent !== null) terms.userAgent = useragent;
  if (login !== null) terms.login = login;
  return terms;
}

/** Result for a url for which nothing is sent: it is outside the roots that its provider has now, or
 * robots.txt forbids it. */
export function refusalOf(code: typeof OUTSIDE_ROOTS | typeof ROBOTS_FORBID): FetchFailed {
  const message = codeText(code);
  return { id: 0, status: 'error', code, message, reach: 'real', wireBytes: 0, elapsedMs: 0 };
}

interface Sending {
  id: number;
  lane: string;
  terms: SiteTerms;
  /** If it fails once more it has failed for good. */
  isLastTry?: boolean;
}

/** Property by property: this is done for every url, and each spread made it slower by a tenth of a
 * microsecond. */
export function requestOf(
  row: WaitingRow,
  { id, lane, terms, isLastTry = false }: Sending,
  { lastModified, etag }: Pick<FetchRequest, 'lastModified' | 'etag'>,
): FetchRequest {
  const { roots, accept, enforce, maxBytes, timeoutMs, userAgent, login } = terms;
  const request: FetchRequest = { id, lane, url: row.furl ?? row.curl, roots };
  if (row.mimetype === AS_SERVED) request.accept = accept;
  else request.mimetype = row.mimetype;
  if (lastModified !== undefined) request.lastModified = lastModified;
  if (etag !== undefined) request.etag = etag;
  if (row.md5 !== null) request.md5 = row.md5;
  if (row.len !== null) request.len = row.len;
  if (enforce !== undefined) request.enforce = enforce;
  // The same content each time is the site's own: its announcement is out of date.
  if (isLastTry && (row.md5 !== null || row.len !== null)) request.takesContradicted = true;
  if (maxBytes !== undefined) request.maxBytes = maxBytes;
  if (timeoutMs !== undefined) request.timeoutMs = timeoutMs;
  if (userAgent !== undefined) request.userAgent = userAgent;
  if (login !== undefined) request.login = login;
  if (isGated(row)) request.redirects = 'report';
  return request;
}

/** Fields of a row and its sending by which its result is judged. */
export function sentOf(
  { pos, gen, pid, tries, len, mtime, mimetype, flags }: WaitingRow,
  set: WaitingSet,
  { conditional, held, backoffs }: { conditional: boolean; held: boolean; backoffs: number },
) {
  const isSpecial = mimetype === AS_SERVED || (flags & UNASKED) !== 0;
  return { pos, gen, pid, tries, len, mtime, set, conditional, held, isSpecial, backoffs };
}
