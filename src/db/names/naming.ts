/**
 * Names of files in a store: `ab/cd/00abcd12.3` is id 0xabcd12 in its generation 3. 256 consecutive ids share
 * a folder, so that what is fetched together lies together; after 16 777 216 ids the 65 536 folders are
 * filled further.
 */
import type { Name } from './names.js';

const FORM = /^([0-9a-f]{2})\/([0-9a-f]{2})\/([0-9a-f]{8,13})\.(0|[1-9][0-9]{0,14})$/;

/** True if a name is that of a folder in a store, or in one of those. */
export function isFolderName(name: string): boolean {
  return /^[0-9a-f]{2}$/.test(name);
}

/** The folder of an id, relative to the store. */
export function folderOf(id: number): string {
  const folder = (Math.floor(id / 256) % 65_536).toString(16).padStart(4, '0');
  return `${folder.slice(0, 2)}/${folder.slice(2)}`;
}

/** The file of a name, relative to the store: what the LCC DB keeps as `fetched_fileid`. */
export function fileIdOf(name: Name): string {
  return `${folderOf(name.id)}/${name.id.toString(16).padStart(8, '0')}.${name.gen}`;
}

/** Reads a file id back; undefined for anything `fileIdOf` does not write (`../../etc/passwd`, an absolute
 * path, …). */
export function nameOf(fileId: string): Name | undefined {
  const found = FORM.exec(fileId);
  if (found === null) return undefined;
  const name = { id: parseInt(found[3] ?? '', 16), gen: Number(found[4]) };
  return Number.isSafeInteger(name.id) && fileIdOf(name) === fileId ? name : undefined;
}
