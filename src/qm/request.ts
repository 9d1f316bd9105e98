/** A row of the queue as the request a robot gets. */
import { agrees, type Held } from '../db/cache/content.js';
import type { WaitingRow } from '../db/queue/row.js';
import type { WaitingSet } from '../db/queue/sets.js';
import type { Provider } from '../db/queue/providers.js';
import type { FetchRequest } from '../wire/fetch.js';

/**
 * What is held may serve as the base of a conditional request when it is whole and nothing the CP says contradicts it.
 */
export function validatorsOf(
  row: WaitingRow,
  held: Held | undefined,
): Pick<FetchRequest, 'lastModified' | 'etag'> {
  if (held === undefined || held.verified === 0 || !agrees(row, held)) return {};
  return {
    ...(held.lastmodified === null ? undefined : { lastModified: held.lastmodified }),
    ...(held.etag === null ? undefined : { etag: held.etag }),
  };
}

/** What every request to a provider's site says. */
export type SiteTerms = Pick<
  FetchRequest,
  'roots' | 'enforce' | 'maxBytes' | 'timeoutMs' | 'userAgent' | 'login'
>;

export function siteTermsOf(provider: Provider, roots: readonly string[]): SiteTerms {
  const { enforce, maxlen, fetchtimeout, useragent, login } = provider;
  return {
    roots,
    ...(enforce === 0 ? undefined : { enforce: true }),
    ...(maxlen === null ? undefined : { maxBytes: maxlen }),
    ...(fetchtimeout === null ? undefined : { timeoutMs: fetchtimeout }),
    ...(useragent === null ? undefined : { userAgent: useragent }),
    ...(login === null ? undefined : { login }),
  };
}

export function requestOf(
  row: WaitingRow,
  sending: { id: number; lane: string; terms: SiteTerms },
  validators: Pick<FetchRequest, 'lastModified' | 'etag'>,
): FetchRequest {
  return {
    id: sending.id,
    lane: sending.lane,
    url: row.furl ?? row.curl,
    ...sending.terms,
    mimetype: row.mimetype,
    ...validators,
    ...(row.md5 === null ? undefined : { md5: row.md5 }),
    ...(row.len === null ? undefined : { len: row.len }),
  };
}

/** What of a row its result is judged by. */
export function sentOf({ pos, gen, pid, tries, md5, len, mtime, urlSum }: WaitingRow, set: WaitingSet) {
  return { pos, gen, pid, tries, md5, len, mtime, urlSum, set };
}
