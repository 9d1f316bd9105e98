/** The note beside the copy of a database, of the shipment that it has, and of the file that it became. */
import { statSync } from 'node:fs';
import { writeFileDurably } from '../lib/durable.js';
import { readIfThere } from '../lib/read-if-there.js';

export const noteOf = (path: string) => `${path}.copy-note`;

/** The shipment up to which the copy that is being made is surely on disk; undefined: none is. */
export function copiedSoFar(path: string): number | undefined {
  const n = /^(\d{1,15})\n/.exec(readIfThere(noteOf(path)) ?? '')?.[1];
  return n === undefined ? undefined : Number(n);
}

/** @param file that becomes the database, at the end */
export function noteCopied(path: string, n: number, file?: string): void {
  writeFileDurably(noteOf(path), `${n}\n${file === undefined ? '' : stateOf(file)}\n`);
}

/** The shipment that the database is of, if it is a finished copy that nobody has written to. */
export function copiedUpTo(path: string): number | undefined {
  const [, state = ''] = readIfThere(noteOf(path))?.split('\n') ?? [];
  return state !== '' && state === stateOf(path) ? copiedSoFar(path) : undefined;
}

/** Renaming a file changes nothing of these. */
function stateOf(path: string): string {
  const file = statSync(path, { bigint: true, throwIfNoEntry: false });
  return file === undefined ? '' : `${file.ino} ${file.size} ${file.mtimeNs}`;
}
