/** Whether content may fill the disk that it shares with the spool until nothing can be taken back. */
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Config } from '../config/load.js';

const STORE = 'bm.min_free_disk_percent';
const SPOOL = 'uns.min_free_disk_percent';

/**
 * What to warn of at the start: sets are refused below `uns.min_free_disk_percent`, also those that remove content, so on one
 * disk storing has to stop before. Undefined when it does, or store and spool have disks of their own.
 */
export function fullDiskTrap(config: Config): string | undefined {
  const [store, spool] = [config.get(STORE), config.get(SPOOL)];
  if (spool === 0 || store > spool) return undefined;
  const { home } = config;
  if (diskOf(home.store) !== diskOf(home.unsSpool)) return undefined;
  return `${STORE} = ${store} (${config.originOf(STORE)}) must be more than ${SPOOL} = ${spool} (${config.originOf(SPOOL)}), for ${home.store} and ${home.unsSpool} share a disk: full of content it would take no set that removes any`;
}

/** The device of a folder, or of where it will be made. */
function diskOf(dir: string): number {
  return statSync(dir, { throwIfNoEntry: false })?.dev ?? diskOf(dirname(dir));
}
