/**
 * names.db when the Bot Manager starts. One that is damaged, or that is not the one served last, is refused;
 * where there is none beside content, or beside a mark of one, a new one is not taken for that of an empty
 * store: its ids begin far beyond all.
 */
import { join } from 'node:path';
import { NamesDb } from '../db/names/names.js';
import { LccError } from '../lib/errors.js';
import type { Log } from '../lib/log.js';

/**
 * Opens that of a store. @throws LccError `config` for one that is not the one served last, and as NamesDb
 */
export function openNames({ dir, log }: { dir: string; log: Log }): NamesDb {
  const path = join(dir, 'names.db');
  const names = new NamesDb(path);
  if ((names.madeFrom ?? 0) > 0)
    log.error('names.db: missing although there is content; new ids begin far beyond the existing ones', {
      store: dir,
    });
  const old = names.wentBack();
  if (old === undefined) return names;
  names.close();
  throw new LccError('config', `${path}: ${old}`);
}
