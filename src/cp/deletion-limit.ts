/** How many urls of a site may go at once (`--max-delete`): a site that is not all there is refused. */
import { LccError } from '../lib/errors.js';
import type { Changes } from './state/compare.js';

/** A number of urls of the old state, or a share of it that small sites are exempt from. */
export type DeletionLimit = { urls: number } | { percent: number };

/** A site of a few pages may well be replaced as a whole. */
const EXEMPT_BELOW_URLS = 10;

/** @param text `N` or `N%` @throws LccError `usage` */
export function deletionLimitOf(text: string): DeletionLimit {
  const found = /^(\d{1,15}(?:\.\d+)?)(%?)$/.exec(text);
  const amount = Number(found?.[1]);
  if (found?.[2] === '%' && amount <= 100) return { percent: amount };
  if (found?.[2] === '' && Number.isInteger(amount)) return { urls: amount };
  throw new LccError('usage', `--max-delete ${text}: write a number of urls, or a share like 50%`);
}

/** @throws LccError `data.refused` */
export function refuseMassDeletion(changes: Changes, maxDelete: DeletionLimit): void {
  // Urls that only sets in doubt name were there for a run or two; before the first set that was accepted
  // they are all there was.
  const ofState = changes.deleted - changes.ghosts;
  const isFirst = ofState + changes.changed + changes.unchanged === 0;
  const deleted = isFirst ? changes.ghosts : ofState;
  const before = deleted + (isFirst ? changes.added : changes.changed + changes.unchanged);
  const isTooMuch =
    'urls' in maxDelete
      ? deleted > maxDelete.urls
      : before >= EXEMPT_BELOW_URLS && deleted * 100 > maxDelete.percent * before;
  if (!isTooMuch) return;
  const limit = 'urls' in maxDelete ? String(maxDelete.urls) : `${maxDelete.percent} %`;
  throw new LccError(
    'data.refused',
    `${deleted} of ${before} urls would be deleted, more than ${limit}; ` +
      'is the site all there? (--max-delete=N or N% permits more)',
  );
}
