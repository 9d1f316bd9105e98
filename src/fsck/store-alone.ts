/**
 * A store on a machine that has no LCC DB: what its Bot Manager noted of names against the files, and what
 * robots left. Whether a row points to a file only the Queue Manager's machine knows; it has content read
 * again when the Bot Manager connects (`--recheck`).
 */
import { existsSync, readdirSync, unlinkSync, type Dirent } from 'node:fs';
import { join } from 'node:path';
import { NamesDb, type Name } from '../db/names/names.js';
import { nameOf } from '../db/names/naming.js';
import { LccError } from '../lib/errors.js';
import { leftover, OWN_FILES } from './leftovers.js';
import { NO_NAMES, whatIsWrong } from './names-database.js';
import type { Extent, Finding } from './types.js';

/** @throws LccError `try.later` when a Bot Manager has the store */
export function* storeAlone(storeDir: string, isRepair: boolean, extent: Extent): Generator<Finding> {
  const path = join(storeDir, 'names.db');
  if (!existsSync(path)) {
    yield { kind: 'store', where: path, what: NO_NAMES, repaired: false, remains: true };
    return;
  }
  let names: NamesDb;
  try {
    names = new NamesDb(path, !isRepair);
  } catch (error) {
    if (!(error instanceof LccError) || error.code !== 'data.malformed') throw error;
    yield { kind: 'free-list', where: path, what: whatIsWrong(path, error), repaired: false, remains: true };
    return;
  }
  try {
    const old = names.wentBack();
    if (old !== undefined) {
      yield { kind: 'free-list', where: path, what: old, repaired: false, remains: true };
      return;
    }
    extent.leaving = names.goneCount;
    yield* files(storeDir, names, isRepair, extent);
  } finally {
    names.close();
  }
}

function* files(storeDir: string, names: NamesDb, isRepair: boolean, extent: Extent): Generator<Finding> {
  const beyond: Name[] = [];
  for (const { folder, entry } of entriesBelow(storeDir, '')) {
    const where = folder === '' ? entry.name : `${folder}/${entry.name}`;
    const name = entry.isFile() ? nameOf(where) : undefined;
    if (name === undefined) {
      yield leftover(storeDir, isRepair, folder, entry);
      continue;
    }
    extent.files++;
    if (name.id >= names.nextId) {
      beyond.push(name);
      const what = `ids from ${names.nextId} on are said never to have been given out`;
      yield { kind: 'free-list', where, what, repaired: isRepair };
    } else if (isStale(name, names)) {
      if (isRepair) unlinkSync(join(storeDir, where));
      yield { kind: 'orphan', where, what: 'its name is free again', repaired: isRepair };
    }
  }
  if (isRepair) names.claim(beyond);
}

/** The file was deleted, or never reported: a power cut brings back what had been unlinked. */
function isStale({ id, gen }: Name, names: NamesDb): boolean {
  const noted = names.row(id);
  return noted !== undefined && (noted.gen > gen || (noted.gen === gen && noted.state === 'free'));
}

/** All that is no folder, but for what the store itself has. */
function* entriesBelow(storeDir: string, folder: string): Generator<{ folder: string; entry: Dirent }> {
  for (const entry of readdirSync(join(storeDir, folder), { withFileTypes: true })) {
    if (entry.isDirectory())
      yield* entriesBelow(storeDir, folder === '' ? entry.name : `${folder}/${entry.name}`);
    else if (folder !== '' || !OWN_FILES.test(entry.name)) yield { folder, entry };
  }
}
