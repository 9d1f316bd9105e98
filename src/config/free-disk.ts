/** How much of its disk a store, or a spool, leaves free: a share, but no more than it can need. A share
 * alone would keep hundreds of gigabytes of a large disk for nothing. */
import { formatBytes } from '../lib/bytes-text.js';
import type { DiskSpace } from '../lib/disk-space.js';
import { valueOf, type Settings } from './settings/index.js';

export interface FreeDisk {
  percent: number;
  bytes: number;
  /** Prefix of the settings. */
  whose: 'bm' | 'uns' | 'rs';
}

export function freeDiskOf(settings: Settings, whose: FreeDisk['whose']): FreeDisk {
  return {
    percent: valueOf(settings, `${whose}.min_free_disk_percent`),
    bytes: valueOf(settings, `${whose}.min_free_disk_bytes`),
    whose,
  };
}

/** The bytes that must stay free on a disk of this size. */
export function bytesToKeep(
  { percent, bytes }: Pick<FreeDisk, 'percent' | 'bytes'>,
  totalBytes: number,
): number {
  return Math.min(bytes, (totalBytes * percent) / 100);
}

/** The setting that decides. */
export function keyOf({ percent, bytes, whose }: FreeDisk, totalBytes: number) {
  return bytes < (totalBytes * percent) / 100
    ? (`${whose}.min_free_disk_bytes` as const)
    : (`${whose}.min_free_disk_percent` as const);
}

/** `1.2 GB free of 252 GB, 4 GB needed (bm.min_free_disk_bytes)`. @param neededBytes where that is more than
 * what is kept */
export function describeRoom(
  rule: FreeDisk,
  { freeBytes, totalBytes }: DiskSpace,
  neededBytes?: number,
): string {
  const needed = neededBytes ?? bytesToKeep(rule, totalBytes);
  return `${formatBytes(freeBytes)} free of ${formatBytes(totalBytes)}, ${formatBytes(needed)} needed (${keyOf(rule, totalBytes)})`;
}
