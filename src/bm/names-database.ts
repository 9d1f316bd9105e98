/**
 * names.db when the Bot Manager starts. One that is damaged, or that is not the one served last, is set
 * aside; neither then nor where there is none beside content, or beside a mark of one, is a new one taken for
 * that of an empty store: its ids begin far beyond all.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { goOnLeaving, moveAside } from '../db/sqlite/aside.js';
import { markedIds, NamesDb } from '../db/names/names.js';
import { forgetMarks } from '../db/sqlite/marks.js';
import type { Clock } from '../lib/clock.js';
import { LccError, messageOf } from '../lib/errors.js';
import type { Log } from '../lib/log.js';

/**
 * Ids skipped when names.db was lost: generations are not known, so nothing given out before may come again.
 */
const SALVAGE_GAP = 2 ** 24;

const BEYOND = 'new ids begin far beyond the existing ones';

/** Opens that of a store. @throws LccError `try.later` when another Bot Manager has it, and as NamesDb */
export function openNames({ dir, log, clock }: { dir: string; log: Log; clock: Clock }): NamesDb {
  const path = join(dir, 'names.db');
  goOnLeaving(path);
  // SQLite would make a new one of an empty file.
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) {
    const beyond = idsIn(dir, path);
    if (beyond > 0) log.error(`names.db: missing although there is content; ${BEYOND}`, { store: dir });
    return beyond > 0 ? namesBeyond(path, beyond) : new NamesDb(path, 0);
  }
  let names: NamesDb | undefined;
  try {
    names = new NamesDb(path, 0);
    const old = names.wentBack();
    if (old === undefined) return names;
    throw new LccError('data.malformed', `${path}: ${old}`);
  } catch (error) {
    const known = names?.nextId ?? 0;
    names?.close();
    if (!(error instanceof LccError) || error.code !== 'data.malformed') throw error;
    const aside = `${path}.damaged-${clock.nowMs()}`;
    const beyond = Math.max(idsIn(dir, path), known);
    moveAside(path, aside);
    log.error(`names.db: ${names === undefined ? 'damaged and ' : ''}set aside; ${BEYOND}`, {
      error: messageOf(error),
      aside,
    });
    return namesBeyond(path, beyond);
  }
}

/** New names, far beyond ids that were given out. */
function namesBeyond(path: string, ids: number): NamesDb {
  const names = new NamesDb(path, ids + SALVAGE_GAP);
  // They are of the one before. Killed in between, the next start begins beyond once more.
  forgetMarks(path);
  return names;
}

/** Ids below this one were given out, as files and marks say. */
function idsIn(dir: string, path: string): number {
  let ids = markedIds(path);
  for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
    const id = entry.isFile() ? /^([0-9a-f]{8,13})\./.exec(entry.name)?.[1] : undefined;
    if (id !== undefined) ids = Math.max(ids, parseInt(id, 16) + 1);
  }
  return ids;
}
