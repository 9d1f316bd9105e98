/** Warns where content may fill the disk that it shares with the spool until nothing can be taken back. */
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { bytesToKeep, freeDiskOf, keyOf } from './free-disk.js';
import type { Config } from './types.js';
import { formatAmount } from './amounts.js';
import { spaceOf } from '../lib/disk-space.js';

/** The warning at the start: with too little room sets are refused, also those that remove content, so on one
 * disk storing has to stop before. Undefined when it does, or store and spool have disks of their own. */
export function fullDiskTrap(config: Config): string | undefined {
  const { home } = config;
  const [storeDir, spoolDir] = [thereOf(home.store), thereOf(home.unsSpool)];
  if (statSync(storeDir).dev !== statSync(spoolDir).dev) return undefined;
  const { totalBytes } = spaceOf(spoolDir);
  const [store, spool] = [freeDiskOf(config.settings, 'bm'), freeDiskOf(config.settings, 'uns')];
  const kept = bytesToKeep(spool, totalBytes);
  if (kept === 0 || bytesToKeep(store, totalBytes) > kept) return undefined;
  const [storeKey, spoolKey] = [keyOf(store, totalBytes), keyOf(spool, totalBytes)];
  const set = (key: typeof storeKey) => {
    const value = formatAmount(config.get(key), key.endsWith('_bytes') ? 'bytes' : 'percent');
    return `${key} = ${value} (${config.originOf(key)})`;
  };
  return `${set(storeKey)} must keep more free than ${set(spoolKey)}, for ${home.store} and ${home.unsSpool} share a disk: full of content it would take no set that removes any`;
}

/** A folder, or where it will be made. */
function thereOf(dir: string): string {
  return statSync(dir, { throwIfNoEntry: false }) === undefined ? thereOf(dirname(dir)) : dir;
}
