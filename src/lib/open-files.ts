/** How many files this process may have open (`ulimit -n`), Infinity where the system does not tell. */
import { readFileSync } from 'node:fs';

export function openFilesLimit(path = '/proc/self/limits'): number {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return Infinity;
  }
  const found = /^Max open files\s+(\d+|unlimited)/m.exec(text);
  return found === null || found[1] === 'unlimited' ? Infinity : Number(found[1]);
}

/** Most connections that a daemon has beside those it serves, of one kind: turned away, or not yet speaking
 * TLS. */
const MOST_AT_DOOR = 256;

/**
 * How many those may be, for a process that may have `openFiles` files open: the others must still be there.
 */
export function placesAtDoor(openFiles: number): number {
  return Math.min(MOST_AT_DOOR, Math.max(1, Math.floor(openFiles / 8)));
}
