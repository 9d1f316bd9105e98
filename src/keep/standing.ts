/** The home as against the engine: it goes on only when it is what the engine has, or continues that. */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { FileState } from '../db/engine/ledger.js';
import { asideName, beginLeaving, endLeaving, finishLeaving, isLeaving, PARTS } from '../db/sqlite/aside.js';
import { syncDirectory } from '../lib/durable.js';
import { step } from '../lib/steps.js';
import { copiedUpTo } from './copy-note.js';
import { LogFile } from './log-file.js';
import { fileMark, readPosition, type ShippedPosition } from './place.js';

/**
 * `continues`: its log has the noted place in it, or has begun again once since. `ended`: it is the very
 * file that was left in order, or made by a copy. `none`: the engine has nothing of it that counts. `other`:
 * anything else.
 */
export type HomeStanding = 'continues' | 'ended' | 'none' | 'other';

/** Looks without a connection of SQLite, before anybody has the database open or beside those who have. */
export function standingOf(path: string, state: FileState | undefined, machine: string): HomeStanding {
  const position = state === undefined || state.base === 0 ? undefined : readPosition(state.pos);
  if (state === undefined || position === undefined) return 'none';
  const mark = fileMark(path, machine);
  if (mark === undefined || isLeaving(path)) return 'other';
  if (mark === position.ended || copiedUpTo(path) === state.n) return 'ended';
  return continues(path, position) ? 'continues' : 'other';
}

/** True if the log beside the database goes on from that position. */
export function continues(
  path: string,
  { place, isWhole }: Pick<ShippedPosition, 'place' | 'isWhole'>,
): boolean {
  const log = LogFile.open(path);
  if (log === undefined) return false;
  try {
    return log.has(place) || (isWhole && log.header()?.salts[0] === (place.salts[0] + 1) >>> 0);
  } finally {
    log.close();
  }
}

/** Gets a database that is not the engine's out of the way, durably; the one before it is removed. */
export function setAside(path: string, nowMs: number): void {
  if (!isLeaving(path)) {
    if (!existsSync(path)) return;
    beginLeaving(path, asideName(path, 'replaced', nowMs));
  }
  const kept = basename(finishLeaving(path) ?? path);
  endLeaving(path);
  const parts = PARTS.map(part => kept + part);
  for (const file of readdirSync(dirname(path)))
    if (file.startsWith(`${basename(path)}.replaced-`) && !parts.includes(file))
      rmSync(join(dirname(path), file));
  syncDirectory(dirname(path));
  step('keep.replaced');
}
