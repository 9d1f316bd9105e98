/** Ids of names that were given out, as the files of a store and the marks beside its names.db say. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { newestMark } from '../sqlite/marks.js';

/**
 * Ids skipped when names.db was lost: generations are not known, so nothing given out before may come again.
 */
const SALVAGE_GAP = 2 ** 24;
/** Names are opened less often than that before they are lost. */
const MOST_STARTS = 100_000;

/** The first id for a new names.db: 0 in an empty store, else far beyond all that were given out. */
export function beyondIdsIn(store: string): number {
  const marked = newestMark(join(store, 'names.db'))?.seq ?? 0;
  let ids = Number.isSafeInteger(marked) ? marked : 0;
  for (const entry of readdirSync(store, { recursive: true, withFileTypes: true })) {
    const id = entry.isFile() ? /^([0-9a-f]{8,13})\./.exec(entry.name)?.[1] : undefined;
    if (id !== undefined) ids = Math.max(ids, parseInt(id, 16) + 1);
  }
  return ids === 0 ? 0 : ids + SALVAGE_GAP;
}

/** The number from which starts of names that begin with this id are counted: above all of lost ones. */
export function startsBefore(firstId: number): number {
  return Math.floor(firstId / SALVAGE_GAP) * MOST_STARTS;
}

/** True if names that were opened so often are later ones than those that had been opened `before` times. */
export function areOtherNames(starts: number, before: number): boolean {
  return starts === 1 || Math.floor(starts / MOST_STARTS) > Math.floor(before / MOST_STARTS);
}
