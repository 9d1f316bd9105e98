/** The file `machine-id` of a store: whose it is, and which of all stores that this machine ever had. */
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileDurably } from '../lib/durable.js';
import { errnoOf } from '../lib/errors.js';
import { isFolderName } from './naming.js';

export interface StoreMark {
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

/** What to tell who finds a store that is not the one rows point into (StoreRegister.fits). */
export function strangeStore(machineId: string): string {
  return `rows point to files of machine "${machineId}" in another store than this one; mount that one, or stop lccd and run lccfsck --repair --store-lost`;
}

/** Whether content was ever put into the store. */
export function hasContent(dir: string): boolean {
  try {
    return readdirSync(dir).some(isFolderName);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes(errnoOf(error) ?? '')) return false;
    throw error;
  }
}

/** Marks the store durably. @returns its new id */
export function markStore(dir: string, machineId: string): string {
  const storeId = randomUUID();
  writeFileDurably(join(dir, 'machine-id'), `${machineId}\n${storeId}\n`);
  return storeId;
}
