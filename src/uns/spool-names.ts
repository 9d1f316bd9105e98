/** Names of spool entries, by which a set is known without opening its file, and when that is damaged; and
 * the entries in the spools of the UNSes of one LCC, whether or not they run. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf } from '../lib/errors.js';
import { spooledLabels } from '../lib/spool.js';
import type { SetKind } from '../wire/cp-uns/names.js';
import type { SetOrigin } from '../wire/origin.js';

/** The part of an entry's name after its number. */
export interface EntryLabel {
  pid: number;
  seq: number;
  set: SetKind;
  received: number;
  /** How many of them ask for removal. */
  deletes: number;
  /** The provider's newest connection and newest set in the queue, as known when the set was accepted
   * (wire/uns-qm.ts). */
  newest: number;
  after: number;
  /** Source of the set, where its owner did not send it. */
  origin?: SetOrigin | undefined;
}

const LABEL =
  /^(\d+)\.(\d+)\.(full|partial)\.(\d+)\.(\d+)\.(\d+)\.(\d+)(?:\.(push|push-feed|links|scan|audit))?$/;

/** undefined when it is none */
export function parseLabel(text: string): EntryLabel | undefined {
  const found = LABEL.exec(text);
  if (found === null) return undefined;
  const [, pid, seq, set, received, deletes, newest, after, origin] = found;
  return {
    pid: Number(pid),
    seq: Number(seq),
    set: set as SetKind,
    received: Number(received),
    deletes: Number(deletes),
    newest: Number(newest),
    after: Number(after),
    ...(origin === undefined ? {} : { origin: origin as SetOrigin }),
  };
}

export function formatLabel({ pid, seq, set, received, deletes, newest, after, origin }: EntryLabel): string {
  return [pid, seq, set, received, deletes, newest, after, ...(origin === undefined ? [] : [origin])].join(
    '.',
  );
}

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
