/** names.db when the Bot Manager starts: one that is damaged is set aside, one that is missing beside content is not believed to be new. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { goOnLeaving, moveAside } from '../db/sqlite/aside.js';
import { NamesDb } from '../db/names/names.js';
import type { Clock } from '../lib/clock.js';
import { LccError, messageOf } from '../lib/errors.js';
import type { Log } from '../lib/log.js';

/** Ids skipped when names.db was lost: generations are not known, so nothing given out before may come again. */
const SALVAGE_GAP = 2 ** 24;

/** Opens that of a store. */
export function openNames({ dir, log, clock }: { dir: string; log: Log; clock: Clock }): NamesDb {
  const path = join(dir, 'names.db');
  goOnLeaving(path);
  if (!existsSync(path)) {
    const highest = highestIdIn(dir);
    if (highest < 0) return new NamesDb(path, 0);
    log.error('names.db: missing although there is content; new ids begin far beyond the existing ones', {
      store: dir,
    });
    return new NamesDb(path, highest + SALVAGE_GAP);
  }
  try {
    return new NamesDb(path, 0);
  } catch (error) {
    if (!(error instanceof LccError) || error.code !== 'data.malformed') throw error;
    const aside = `${path}.damaged-${clock.nowMs()}`;
    moveAside(path, aside);
    log.error('names.db: damaged and set aside; new ids begin far beyond the existing ones', {
      error: messageOf(error),
      aside,
    });
    return new NamesDb(path, Math.max(0, highestIdIn(dir)) + SALVAGE_GAP);
  }
}

/** The highest id of any file in the store, -1 when there is none. */
function highestIdIn(dir: string): number {
  let highest = -1;
  for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
    const id = entry.isFile() ? /^([0-9a-f]{8,13})\./.exec(entry.name)?.[1] : undefined;
    if (id !== undefined) highest = Math.max(highest, parseInt(id, 16));
  }
  return highest;
}
