/** names.db, which has the owner of each name in the store and the names that are free: opened, or reported
 * as it is. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { NamesDb } from '../db/names/names.js';
import { LccError } from '../lib/errors.js';
import { remaining, type Finding } from './types.js';

const NO_NAMES = 'there is none; lccd-bm creates it when it starts';
/** What an error says of a file, which a finding names by itself. */
export function whatIsWrong(path: string, error: LccError): string {
  return error.message.replace(`${path}: `, '');
}

const LEFT_OUT =
  'the LCC runs: files without rows and the free list are looked at only while lccd is stopped';

/** The names of a store, or what is wrong with them. @throws LccError `try.later` when a Bot Manager has
 * them */
export function namesOf(storeDir: string, isRepair: boolean): NamesDb | Finding {
  const path = join(storeDir, 'names.db');
  if (!existsSync(path)) return remaining('store', path, NO_NAMES);
  try {
    const names = new NamesDb(path, !isRepair);
    const old = names.wentBack();
    if (old === undefined) return names;
    names.close();
    return remaining('free-list', path, old);
  } catch (error) {
    if (!(error instanceof LccError) || error.code !== 'data.malformed') throw error;
    return remaining('free-list', path, whatIsWrong(path, error));
  }
}

/**
 * @param live the LCC runs: the Bot Manager alone knows whereabouts of names then
 * @returns undefined where it is not looked at; what is reported or noted says why
 */
export function openNames(
  { storeDir, repair, storeLost }: { storeDir: string; repair: boolean; storeLost: boolean },
  live: boolean,
  { report, note }: { report: (finding: Finding) => void; note: (message: string) => void },
): NamesDb | undefined {
  try {
    const names = live ? undefined : namesOf(storeDir, repair);
    if (names instanceof NamesDb) return names;
    if (names === undefined) note(LEFT_OUT);
    else if (names.kind !== 'store' || !storeLost) report(names);
  } catch (error) {
    if (!(error instanceof LccError) || error.code !== 'try.later' || repair) throw error;
    note(LEFT_OUT);
  }
  return undefined;
}
