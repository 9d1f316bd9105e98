/** Children that ended for want of room on a disk: they are not started before there is some. */
import type { Home } from '../config/home.js';
import { roomlessness } from '../lib/disk-room.js';
import { EXIT } from '../lib/errors.js';

/**
 * Why a child that ended with this status is not started for now: without room no daemon opens a database.
 */
export function heldUp(
  status: number | undefined,
  { dir, unsSpool }: Pick<Home, 'dir' | 'unsSpool'>,
): string | undefined {
  return status === EXIT.ioerr ? (roomlessness(dir) ?? roomlessness(unsSpool)) : undefined;
}
