/** Files of a store, and those that are none of it: left half-written by a robot, or put there by a
 * person. */
import { readdirSync, unlinkSync, type Dirent } from 'node:fs';
import { join } from 'node:path';
import type { Name } from '../db/names/names.js';
import { isFolderName, nameOf } from '../db/names/naming.js';
import type { Finding } from './types.js';

/** Files that belong into a store besides folders of content. */
export const OWN_FILES = /^(machine-id|names\.db(-wal|-shm|\.damaged-.*|\.last-.*)?)$/;

export interface StoreEntry {
  /** Below the store. */
  where: string;
  entry: Dirent;
  /** Undefined: it is none of the store. */
  name: Name | undefined;
}

/** The folders of a store, one after the other, each with what lies in it besides folders. */
export function* storeFolders(storeDir: string, path = ''): Generator<StoreEntry[], void> {
  const entries = readdirSync(join(storeDir, path), { withFileTypes: true }).filter(
    ({ name }) => path !== '' || !OWN_FILES.test(name),
  );
  const isFolder = (entry: Dirent) =>
    path.length < 'ab/cd'.length && isFolderName(entry.name) && entry.isDirectory();
  const below = (name: string) => (path === '' ? name : `${path}/${name}`);
  yield entries
    .filter(entry => !isFolder(entry))
    .map(entry => {
      const where = below(entry.name);
      return { where, entry, name: entry.isFile() ? nameOf(where) : undefined };
    });
  for (const entry of entries) if (isFolder(entry)) yield* storeFolders(storeDir, below(entry.name));
}

/** The file of a robot that died is removed; a person's is not ours to remove. */
export function leftover(storeDir: string, isRepair: boolean, { where, entry }: StoreEntry): Finding {
  const isTemporary = entry.isFile() && entry.name.endsWith('.tmp');
  const repaired = isRepair && isTemporary;
  if (repaired) unlinkSync(join(storeDir, where));
  const what = isTemporary ? 'left half-written by a robot' : 'not a file of a store; move it elsewhere';
  return { kind: 'leftover', where, what, repaired, ...(isTemporary ? {} : { remains: true as const }) };
}
