/** Providers for a list of sites, one each. */
import { LccError } from '../../lib/errors.js';
import type { Db } from '../sqlite/open.js';
import { Sql } from '../sqlite/sql-store.js';
import { addProvider, type ProviderTerms } from './pidb.js';

export interface ListedSite {
  root: string;
  terms: Partial<ProviderTerms>;
  /** sha256:SALT:HASH. */
  password: () => string;
}

interface AddedSite {
  pid: number;
  root: string;
  /** There was no provider with that root. */
  isNew: boolean;
}

/**
 * Adds those that no provider has as a root, in one transaction: the same list again changes nothing.
 * @param firstPid the first number to be given @param endPid the first that is not @param mayTake whether the
 * others homes of the LCC leave a number to this one
 * @throws LccError `usage` when there are no numbers left
 */
export function addSites(
  db: Db,
  sites: readonly ListedSite[],
  {
    firstPid,
    endPid,
    mayTake = () => true,
  }: { firstPid: number; endPid: number; mayTake?: (pid: number) => boolean },
): AddedSite[] {
  const sql = new Sql(db);
  const ofRoot = sql.value<[root: string], number>('SELECT min(pid) FROM proots WHERE root = ?');
  const isTaken = sql.has<[pid: number]>('SELECT 1 FROM pidb WHERE pid = ?');
  let next = firstPid;
  const addAll = db.transaction(() =>
    sites.map(({ root, terms, password }): AddedSite => {
      const there = ofRoot(root);
      if (there !== undefined) return { pid: there, root, isNew: false };
      while (next < endPid && (isTaken(next) || !mayTake(next))) next++;
      if (next >= endPid)
        throw new LccError(
          'usage',
          `no number from ${firstPid} to ${endPid - 1} is left for ${root}: no site was added; give a lower --pid-from`,
        );
      addProvider(db, next, password(), terms, [root]);
      return { pid: next, root, isNew: true };
    }),
  );
  return addAll.immediate();
}
