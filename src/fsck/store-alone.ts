/**
 * A store on a machine that has no LCC DB: what its Bot Manager noted of names against the files, and what
 * robots left. Whether a row points to a file only the Queue Manager's machine knows; it has content read
 * again when the Bot Manager connects (`--recheck`).
 */
import { readdirSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { NamesDb, type Name } from '../db/names/names.js';
import { leftover, storeFolders, type StoreEntry } from './leftovers.js';
import { namesOf } from './names-database.js';
import type { Extent, Finding } from './types.js';

/** @throws LccError `try.later` when a Bot Manager has the store */
export function* storeAlone(storeDir: string, isRepair: boolean, extent: Extent): Generator<Finding> {
  const names = namesOf(storeDir, isRepair);
  if (!(names instanceof NamesDb)) {
    yield names;
    return;
  }
  try {
    extent.leaving = names.goneCount;
    yield* files(storeDir, names, isRepair, extent);
  } finally {
    names.close();
  }
}

function* files(storeDir: string, names: NamesDb, isRepair: boolean, extent: Extent): Generator<Finding> {
  const beyond: Name[] = [];
  for (const entries of storeFolders(storeDir))
    for (const each of entries) {
      const { where, name } = each;
      if (name === undefined) {
        yield* strange(storeDir, isRepair, each);
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

/** Entries that are none of the store; of a folder all that lies in it, so lost+found is no fault. */
function* strange(storeDir: string, isRepair: boolean, each: StoreEntry): Generator<Finding> {
  if (!each.entry.isDirectory()) return void (yield leftover(storeDir, isRepair, each));
  for (const entry of readdirSync(join(storeDir, each.where), { withFileTypes: true }))
    yield* strange(storeDir, isRepair, { where: `${each.where}/${entry.name}`, entry, name: undefined });
}

/** The file was deleted, or never reported: a power cut brings back what had been unlinked. */
function isStale({ id, gen }: Name, names: NamesDb): boolean {
  const noted = names.row(id);
  return noted !== undefined && (noted.gen > gen || (noted.gen === gen && noted.state === 'free'));
}
