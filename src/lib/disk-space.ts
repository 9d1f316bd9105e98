/** How much room a disk has. */
import { statfsSync } from 'node:fs';

export interface DiskSpace {
  /** For this user. */
  freeBytes: number;
  totalBytes: number;
}

/** Asks the disk of a folder: some microseconds. */
export function spaceOf(dir: string): DiskSpace {
  const { bavail, blocks, bsize } = statfsSync(dir);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}
