/**
 * The mass-delete fuse: a set that would remove more content of its provider than a number of urls and than a
 * share of what is stored has its removals held back (db/queue/held-removals.ts). What only waits in the
 * queue has nothing to lose but a fetch, and is not counted.
 */
import type { FuseTerms } from '../db/queue/held-removals.js';
import type { QueueStore } from '../db/queue/store.js';
import { REMOVALS_HELD } from '../wire/codes.js';
import type { SetHead } from '../wire/uns-qm.js';
import type { UrlRecord } from '../wire/url.js';

/** As configured, for providers without terms of their own. */
export interface FuseRules {
  /** Share of the stored urls that a set may remove; 100 or more: no set is ever held. */
  percent: number;
  urls: number;
}

/** An error names a url; this one is about all of them. */
const ANY_MIMETYPE = '*/*';

/** How much content of the provider a set may remove at most. */
export function fuseLimit(terms: FuseTerms | undefined, rules: FuseRules): number {
  const percent = terms?.fusepercent ?? rules.percent;
  if (terms === undefined || percent >= 100) return Infinity;
  return Math.max(terms.fuseurls ?? rules.urls, (terms.filesused * percent) / 100);
}

/**
 * True if the deletes of a partial set may exceed the fuse; they are counted then before they are carried
 * out. A full set names no deletes, and a set that was held back before and comes again may remove
 * everything.
 */
export function mayExceedFuse(store: QueueStore, head: SetHead, isFull: boolean, rules: FuseRules): boolean {
  const { pid, received, deletes = received, digest = '' } = head;
  if (isFull || head.origin !== undefined || deletes <= fuseLimit(store.held.terms(pid), rules)) return false;
  return !store.held.matches(pid, false, digest);
}

/** True if a full set may remove what it does not name, uncounted: no more than the limit is stored, or the
 * set came again. */
export function isWithinFuse(
  store: QueueStore,
  { pid, digest = '' }: SetHead,
  terms: FuseTerms | undefined,
  limit: number,
): boolean {
  return (terms?.filesused ?? 0) <= limit || store.held.matches(pid, true, digest);
}

/** Holds back the removals of a set that is complete but for them, and tells its provider. Inside a
 * transaction. */
export function holdRemovals(
  store: QueueStore,
  head: SetHead,
  psetid: number,
  urls: number,
  nowS: number,
): void {
  const { pid, digest = '' } = head;
  const stored = store.held.terms(pid)?.filesused ?? urls;
  const isfull = head.set === 'full' ? 1 : 0;
  // Removals that are given up can only come again with a full set.
  if (store.held.hold({ psetid, pid, isfull, urls, digest }, nowS))
    store.providers.wantFullSet('cache crash', pid);
  const about: UrlRecord = {
    curl: head.urlprefix || (store.providers.roots(pid)[0] ?? ''),
    mimetype: ANY_MIMETYPE,
  };
  const text = `${urls} of ${stored} urls would be removed by a set: held back; unless the operator has decided since, they go when the same set comes again`;
  store.errors.add(pid, about, REMOVALS_HELD, text);
}
