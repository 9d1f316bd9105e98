/** Ids of names that were given out, as the files of a store and the marks beside its names.db say. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { markedIds } from './names.js';

/**
 * Ids skipped when names.db was lost: generations are not known, so nothing given out before may come again.
 */
const SALVAGE_GAP = 2 ** 24;

/** The first id for a new names.db: 0 in an empty store, else far beyond all that were given out. */
export function beyondIdsIn(store: string): number {
  let ids = markedIds(join(store, 'names.db'));
  for (const entry of readdirSync(store, { recursive: true, withFileTypes: true })) {
    const id = entry.isFile() ? /^([0-9a-f]{8,13})\./.exec(entry.name)?.[1] : undefined;
    if (id !== undefined) ids = Math.max(ids, parseInt(id, 16) + 1);
  }
  return ids === 0 ? 0 : ids + SALVAGE_GAP;
}
