/** names.db, which has the owner of each name in the store and the names that are free: opened, or reported
 * as it is. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { NamesDb } from '../db/names/names.js';
import { LccError } from '../lib/errors.js';
import type { Finding } from './types.js';

export const NO_NAMES = 'there is none; lccd-bm creates it when it starts';
/** What an error says of a file, which a finding names by itself. */
export function whatIsWrong(path: string, error: LccError): string {
  return error.message.replace(`${path}: `, '');
}

const LEFT_OUT =
  'the LCC runs: files without rows and the free list are looked at only while lccd is stopped';

/**
 * @param live the LCC runs: the Bot Manager alone knows whereabouts of names then
 * @returns undefined where it is not looked at; what is reported or noted says why
 */
export function openNames(
  { storeDir, repair, storeLost }: { storeDir: string; repair: boolean; storeLost: boolean },
  live: boolean,
  { report, note }: { report: (finding: Finding) => void; note: (message: string) => void },
): NamesDb | undefined {
  const path = join(storeDir, 'names.db');
  if (live) {
    note(LEFT_OUT);
    return undefined;
  }
  if (!existsSync(path)) {
    if (!storeLost) report({ kind: 'store', where: path, what: NO_NAMES, repaired: false, remains: true });
    return undefined;
  }
  try {
    const names = new NamesDb(path, !repair);
    const old = names.wentBack();
    if (old === undefined) return names;
    names.close();
    report({ kind: 'free-list', where: path, what: old, repaired: false, remains: true });
    return undefined;
  } catch (error) {
    if (!(error instanceof LccError)) throw error;
    if (error.code === 'data.malformed') {
      report({
        kind: 'free-list',
        where: path,
        what: whatIsWrong(path, error),
        repaired: false,
        remains: true,
      });
      return undefined;
    }
    if (error.code !== 'try.later' || repair) throw error;
    note(LEFT_OUT);
    return undefined;
  }
}
