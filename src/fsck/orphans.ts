/** Files of the store that no row points to. A name's whereabouts are known to the Bot Manager alone while it
 * runs: then they are not looked at. */
import { readdirSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Name } from '../db/names/names.js';
import { isFolderName, nameOf } from '../db/names/naming.js';
import { leftover, OWN_FILES } from './leftovers.js';
import type { CheckContext, Finding } from './types.js';

/** Files without rows that are never too many to be removed; beyond, half of the store is: the database may
 * be a wrong one. */
const FEW_ORPHANS = 100;

export function* files(context: CheckContext): Generator<Finding> {
  const { storeDir, names, repairs } = context;
  if (names === undefined) return;
  const doubt = context.removeOrphans ? undefined : tooManyOrphans(context);
  if (doubt !== undefined) {
    yield { kind: 'orphan', where: storeDir, what: doubt, repaired: false, remains: true };
    if (repairs !== undefined) return;
  }
  for (const entry of readdirSync(storeDir, { withFileTypes: true })) {
    if (!isFolderName(entry.name) || !entry.isDirectory()) {
      if (!OWN_FILES.test(entry.name)) yield leftover(storeDir, repairs !== undefined, '', entry);
      continue;
    }
    for (const inner of readdirSync(join(storeDir, entry.name), { withFileTypes: true })) {
      if (!isFolderName(inner.name) || !inner.isDirectory())
        yield leftover(storeDir, repairs !== undefined, entry.name, inner);
      else yield* folder(context, `${entry.name}/${inner.name}`, doubt !== undefined);
    }
  }
}

/** @param stay whether files without rows would not be removed by a repair */
function* folder(context: CheckContext, path: string, stay: boolean): Generator<Finding> {
  const { storeDir, known, names, repairs } = context;
  const gone: Name[] = [];
  for (const entry of readdirSync(join(storeDir, path), { withFileTypes: true })) {
    const fileid = `${path}/${entry.name}`;
    const name = nameOf(fileid);
    if (name === undefined || !entry.isFile()) {
      yield leftover(storeDir, repairs !== undefined, path, entry);
      continue;
    }
    if (!isOrphan(context, name)) continue;
    const noted = names?.row(name.id);
    if (repairs !== undefined) unlinkSync(join(storeDir, fileid));
    // The id may be given out again, under the next generation.
    if (noted === undefined || (noted.state === 'taken' && noted.gen === name.gen)) gone.push(name);
    yield {
      kind: 'orphan',
      where: fileid,
      what: 'no row points to it',
      repaired: repairs !== undefined,
      ...(stay ? { remains: true as const } : {}),
    };
  }
  if (repairs === undefined || gone.length === 0 || names === undefined) return;
  const current = gone.filter(name => name.id < names.nextId && known.heldGenerations(name.id).length === 0);
  // An id without a row may have files of several generations: the newest is the one that it goes on from.
  const newest = [
    ...new Map(current.toSorted((a, b) => a.gen - b.gen).map(name => [name.id, name])).values(),
  ];
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
  const { storeDir } = context;
  let files = 0;
  let orphans = 0;
  const foldersOf = (path: string) => readdirSync(path).filter(isFolderName);
  for (const outer of foldersOf(storeDir)) {
    for (const inner of foldersOf(join(storeDir, outer))) {
      for (const file of readdirSync(join(storeDir, outer, inner))) {
        const name = nameOf(`${outer}/${inner}/${file}`);
        if (name === undefined) continue;
        files++;
        if (isOrphan(context, name)) orphans++;
      }
    }
  }
  if (orphans <= FEW_ORPHANS || orphans * 2 <= files) return undefined;
  const found = `no row points to ${orphans} of ${files} files, none is removed`;
  return context.restored
    ? `${found}: lcc.db was put back and knows nothing of what came since; should it be a wrong one put back another, else run lccfsck --repair --remove-orphans, and what is missing is fetched again`
    : `${found}; put back a backup of lcc.db, or run lccfsck --repair --remove-orphans`;
}
