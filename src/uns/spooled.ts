/** What lies in the spools of the UNSes of one LCC, whether or not they run. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf } from '../lib/errors.js';
import { spooledLabels } from '../lib/spool.js';
import { parseLabel, type EntryLabel } from './label.js';

/**
 * The sets that were accepted and not handed over yet, by the name of their UNS.
 * @param root the folder of all spools; none are in one that is not there
 * @param isWanted by the name of a UNS; all of them where it is left out
 * @throws what the file system does, such as EACCES
 */
export function setsInSpools(
  root: string,
  isWanted: (uns: string) => boolean = () => true,
): Map<string, EntryLabel[]> {
  const spools = new Map<string, EntryLabel[]>();
  for (const folder of foldersIn(root).filter(isWanted)) {
    const labels = spooledLabels(join(root, folder)).flatMap(text => parseLabel(text) ?? []);
    spools.set(folder, labels);
  }
  return spools;
}

function foldersIn(root: string): string[] {
  try {
    return readdirSync(root, { withFileTypes: true }).flatMap(entry =>
      entry.isDirectory() ? [entry.name] : [],
    );
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return [];
    throw error;
  }
}
