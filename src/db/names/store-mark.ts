/** The file `machine-id` of a store: the machine it belongs to, and which of all stores that this machine
 * ever had. */
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileDurably } from '../../lib/durable.js';
import { errnoOf } from '../../lib/errors.js';
import { isFolderName, nameOf } from './naming.js';

interface StoreMark {
  machineId: string;
  /** Undefined in a store made before stores had one. */
  storeId: string | undefined;
}

/** Undefined: there is no store. */
export function readStoreMark(dir: string): StoreMark | undefined {
  try {
    const [machineId = '', storeId] = readFileSync(join(dir, 'machine-id'), 'utf8').trim().split('\n');
    return { machineId, storeId };
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}

/** A Bot Manager's words on its store. */
export interface StoreWord {
  id: string;
  /** How often its names were opened, counted from 0, or from above all that were lost (ids-in-use.ts).
   * Undefined: it did not say. */
  starts: number | undefined;
  /** Id of this run of the Bot Manager. */
  run: string;
}

/** As one word of the conversation with Queue Managers: `ID/STARTS/RUN`. */
export function storeWord({ id, starts, run }: StoreWord): string {
  return starts === undefined ? id : `${id}/${starts}/${run}`;
}

export function readStoreWord(word: string): StoreWord {
  const [id = '', starts = '', run = ''] = word.split('/');
  return { id, starts: /^[1-9]\d{0,14}$/.test(starts) ? Number(starts) : undefined, run };
}

/** The message for a store that is older than what was served. */
export function olderStore(machineId: string): string {
  return `the store of machine "${machineId}" is an older copy than the one served last; put that back, or move names.db out of it, and all of its content is read again`;
}

/** The message for a store that is not the one rows point into (StoreRegister.fits). */
export function strangeStore(machineId: string): string {
  return `rows point to files of machine "${machineId}" in another store than this one; mount that one, or stop lccd and run lccfsck --repair --store-lost`;
}

/** True if there is content in the store: a folder is made for a page before it is fetched, and some never
 * come. */
export function hasContent(dir: string): boolean {
  return foldersIn(dir).some(outer =>
    foldersIn(join(dir, outer)).some(inner =>
      namesIn(join(dir, outer, inner)).some(file => nameOf(`${outer}/${inner}/${file}`) !== undefined),
    ),
  );
}

/** Marks the store durably. @returns its new id */
export function markStore(dir: string, machineId: string): string {
  const storeId = randomUUID();
  writeFileDurably(join(dir, 'machine-id'), `${machineId}\n${storeId}\n`);
  return storeId;
}

function foldersIn(dir: string): string[] {
  return namesIn(dir).filter(isFolderName);
}

/** None where there is nothing to see. */
function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes(errnoOf(error) ?? '')) return [];
    throw error;
  }
}
