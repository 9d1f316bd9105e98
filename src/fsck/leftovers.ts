/** Files that are none of a store: left half-written by a robot, or put there by a person. */
import { unlinkSync, type Dirent } from 'node:fs';
import { join } from 'node:path';
import type { Finding } from './types.js';

/** Files that belong into a store besides folders of content. */
export const OWN_FILES = /^(machine-id|names\.db(-wal|-shm|\.damaged-.*|\.last-.*)?)$/;

/** The file of a robot that died is removed; a person's is not ours to remove. */
export function leftover(storeDir: string, isRepair: boolean, path: string, entry: Dirent): Finding {
  const where = path === '' ? entry.name : `${path}/${entry.name}`;
  const isTemporary = entry.isFile() && entry.name.endsWith('.tmp');
  const repaired = isRepair && isTemporary;
  if (repaired) unlinkSync(join(storeDir, where));
  const what = isTemporary ? 'left half-written by a robot' : 'not a file of a store; move it elsewhere';
  return { kind: 'leftover', where, what, repaired, ...(isTemporary ? {} : { remains: true as const }) };
}
