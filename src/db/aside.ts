/** Getting a damaged database out of the way of a new one, whole: it is never overwritten. */
import { existsSync } from 'node:fs';
import { renameDurably } from '../lib/durable.js';

/** Its log goes first, each durably before the next: whatever happens, a new database never finds the log of the old. */
const PARTS = ['-wal', '-shm', ''];

/** @param aside a name that nothing has, in the same directory @throws system errors of the disk */
export function moveAside(path: string, aside: string): void {
  for (const part of PARTS) if (existsSync(path + part)) renameDurably(path + part, aside + part);
}
