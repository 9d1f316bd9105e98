/** Files of the store that no row points to. A name's whereabouts are known to the Bot Manager alone while it
 * runs: then they are not looked at. */
import { unlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Name, NamesDb } from '../db/names/names.js';
import { leftover, storeFolders } from './leftovers.js';
import { remaining, type CheckContext, type Finding } from './types.js';

/** Files without rows that are never too many to be removed; beyond, half of the store is: the database may
 * be a wrong one. */
const FEW_ORPHANS = 100;

export function* files(context: CheckContext): Generator<Finding> {
  const { storeDir, names, repairs } = context;
  if (names === undefined) return;
  const doubt = context.removeOrphans ? undefined : tooManyOrphans(context);
  if (doubt !== undefined) {
    yield remaining('orphan', storeDir, doubt);
    if (repairs !== undefined) return;
  }
  for (const entries of storeFolders(storeDir)) {
    const gone: Name[] = [];
    for (const each of entries) {
      const { where, name } = each;
      if (name === undefined) yield leftover(storeDir, repairs !== undefined, each);
      else if (isOrphan(context, name)) {
        const noted = names.row(name.id);
        if (repairs !== undefined) unlinkSync(join(storeDir, where));
        // The id may be given out again, under the next generation.
        if (noted === undefined || (noted.state === 'taken' && noted.gen === name.gen)) gone.push(name);
        // Files without rows would not be removed by a repair.
        const remains = doubt === undefined ? {} : { remains: true as const };
        yield {
          kind: 'orphan',
          where,
          what: 'no row points to it',
          repaired: repairs !== undefined,
          ...remains,
        };
      }
    }
    if (repairs !== undefined) free(context, names, gone);
  }
}

/** Ids whose files are gone may be given out again. */
function free({ known }: CheckContext, names: NamesDb, gone: readonly Name[]): void {
  const current = gone.filter(name => name.id < names.nextId && known.heldGenerations(name.id).length === 0);
  // An id without a row may have files of several generations: the newest is the one that it goes on from.
  const newest = [
    ...new Map(current.toSorted((a, b) => a.gen - b.gen).map(name => [name.id, name])).values(),
  ];
  if (newest.length === 0) return;
  names.claim(newest);
  names.note(newest.map(name => ({ name, atMs: 0 })));
  names.free(newest);
}

/** No row points to it, and nobody is about to delete it. */
function isOrphan({ known, names }: CheckContext, name: Name): boolean {
  if (known.useOf(name) !== undefined) return false;
  const noted = names?.row(name.id);
  return noted?.state !== 'gone' || noted.gen !== name.gen;
}

/** Why files without rows must stay: there are far more than expected, and the rows are probably missing. */
function tooManyOrphans(context: CheckContext): string | undefined {
  let files = 0;
  let orphans = 0;
  for (const entries of storeFolders(context.storeDir)) {
    const names = entries.flatMap(({ name }) => name ?? []);
    files += names.length;
    orphans += names.filter(name => isOrphan(context, name)).length;
  }
  if (orphans <= FEW_ORPHANS || orphans * 2 <= files) return undefined;
  const found = `no row points to ${orphans} of ${files} files, none is removed`;
  return context.restored
    ? `${found}: lcc.db was put back and knows nothing of what came since; should it be a wrong one put back another, else run lccfsck --repair --remove-orphans, and what is missing is fetched again`
    : `${found}; put back a backup of lcc.db, or run lccfsck --repair --remove-orphans`;
}
