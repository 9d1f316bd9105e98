/** The host of a request for a feed, and what its failure is called. */
import type { FetchFailure } from '../../fetch/failure.js';
import { reasonOf } from '../../lib/errors.js';
import { isInnerName, type Site } from '../site.js';

export function siteAt(url: string): Pick<Site, 'isInner'> {
  return { isInner: isInnerName(new URL(url).hostname) };
}

export function failureText(failure: FetchFailure): string {
  const { kind } = failure;
  if (kind === 'status') return `it answers with status ${failure.status}`;
  if (kind === 'sink' || kind === 'source') return reasonOf(failure.error);
  return kind === 'guard'
    ? `its address is not permitted (bot.allow_addresses): ${failure.detail}`
    : `${kind}: ${failure.detail}`;
}
