/**
 * The store against the rows: files that no row points to, what robots left half-written, and what is noted of names.
 * A name's whereabouts are known to the Bot Manager alone while it runs: then nothing of this is looked at.
 */
import { readdirSync, unlinkSync, type Dirent } from 'node:fs';
import { join } from 'node:path';
import type { Name, NameRow } from '../db/names/names.js';
import { fileIdOf, nameOf, isFolderName } from '../db/names/naming.js';
import { spooledDeletions } from './spools.js';
import type { CheckContext, Finding } from './types.js';

const PAGE_ROWS = 1000;
/** Files without rows that are never too many to be removed; beyond, half of the store is: the database may be a wrong one. */
const FEW_ORPHANS = 100;
/** What belongs into a store besides folders of content. */
export const OWN_FILES = /^(machine-id|names\.db(-wal|-shm|\.leaving|\.damaged-.*)?)$/;

/** Deletions that wait in lcc.db: none may name a file that a row holds. */
export async function* deletions(context: CheckContext): AsyncGenerator<Finding> {
  const { audit, machineId, known, repairs, fsmSpoolDir, extent } = context;
  if (machineId === undefined) return;
  extent.leaving += context.names?.goneCount ?? 0;
  for (const { fid, fileid } of audit.freed(machineId, PAGE_ROWS)) {
    const name = nameOf(fileid);
    if (name === undefined) continue;
    if (known.useOf(name) === 'held') {
      // The row was read a while ago: while the LCC runs it may have gone, and its file been freed, since.
      if (!audit.isHeldThough(fid)) continue;
      repairs?.keepFile(fid);
      const what = 'waits to be deleted, but a row points to it';
      yield { kind: 'free-list', where: fileid, what, repaired: repairs !== undefined };
    } else {
      known.add(name, 'freed');
      extent.leaving++;
    }
  }
  for await (const fileid of spooledDeletions(fsmSpoolDir, machineId)) {
    const name = nameOf(fileid);
    if (name === undefined) continue;
    known.add(name, 'freed');
    extent.leaving++;
  }
}

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
    // Its id may be given out again, under the next generation.
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

/** Why files without rows must stay: there are so many more than expected that the rows are probably missing. */
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

/** Whatever is no file of a store: of a robot that died, or of a person. A person's is not ours to remove. */
export function leftover(storeDir: string, isRepair: boolean, path: string, entry: Dirent): Finding {
  const where = path === '' ? entry.name : `${path}/${entry.name}`;
  const isTemporary = entry.isFile() && entry.name.endsWith('.tmp');
  const repaired = isRepair && isTemporary;
  if (repaired) unlinkSync(join(storeDir, where));
  const what = isTemporary ? 'left half-written by a robot' : 'not a file of a store; move it elsewhere';
  return { kind: 'leftover', where, what, repaired, ...(isTemporary ? {} : { remains: true as const }) };
}

/** Names that rows hold must be noted as in use, at that generation. */
export function* freeList({ names, known, repairs }: CheckContext): Generator<Finding> {
  if (names === undefined) return;
  const claims: Name[] = [];
  for (const name of known.held()) {
    const what = wrongOf(name, names.row(name.id), names.nextId);
    if (what === undefined) continue;
    claims.push(name);
    if (repairs !== undefined && claims.length >= PAGE_ROWS) names.claim(claims.splice(0));
    yield { kind: 'free-list', where: fileIdOf(name), what, repaired: repairs !== undefined };
  }
  if (repairs !== undefined) names.claim(claims);
}

function wrongOf(name: Name, noted: NameRow | undefined, nextId: number): string | undefined {
  if (name.id >= nextId) return `in use, but ids from ${nextId} on are said never to have been given out`;
  if (noted === undefined) return name.gen === 0 ? undefined : `in use, but its id is noted at generation 0`;
  if (noted.state === 'free' && noted.gen <= name.gen) return 'in use, but noted as free';
  if (noted.state === 'gone' && noted.gen === name.gen) return 'in use, but noted as to be deleted';
  if (noted.state !== 'free' && noted.gen < name.gen)
    return `in use, but its id is noted at generation ${noted.gen}`;
  return undefined;
}
