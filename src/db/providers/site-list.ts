/** Providers for a list of sites, one each. */
import { LccError } from '../../lib/errors.js';
import type { Db } from '../sqlite/open.js';
import { addProvider, type ProviderTerms } from './pidb.js';

export interface ListedSite {
  root: string;
  terms: Partial<ProviderTerms>;
  /** sha256:SALT:HASH. */
  password: () => string;
}

export interface AddedSite {
  pid: number;
  root: string;
  /** There was no provider with that root. */
  isNew: boolean;
}

/**
 * Adds those that no provider has as a root, in one transaction: the same list again changes nothing.
 * @param firstPid the first number to be given @param endPid the first that is not
 * @throws LccError `limit` when there are no numbers left
 */
export function addSites(
  db: Db,
  sites: readonly ListedSite[],
  { firstPid, endPid }: { firstPid: number; endPid: number },
): AddedSite[] {
  const ofRoot = db.prepare<[string], number | null>('SELECT min(pid) FROM proots WHERE root = ?').pluck();
  const isTaken = db.prepare<[number], number>('SELECT 1 FROM pidb WHERE pid = ?').pluck();
  let next = firstPid;
  const addAll = db.transaction(() =>
    sites.map(({ root, terms, password }): AddedSite => {
      const there = ofRoot.get(root) ?? undefined;
      if (there !== undefined) return { pid: there, root, isNew: false };
      while (isTaken.get(next) !== undefined) next++;
      if (next >= endPid)
        throw new LccError('limit', `no number from ${firstPid} to ${endPid - 1} is left for ${root}`);
      addProvider(db, next, password(), terms, [root]);
      return { pid: next, root, isNew: true };
    }),
  );
  return addAll.immediate();
}
