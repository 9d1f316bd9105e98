/** Machines that have a store and cannot be reached: their content can be neither deleted nor handed out. */
import type { FreedStore } from '../db/cache/freed.js';
import type { StoreRegister } from '../db/cache/stores.js';
import type { BmLinks } from './bm-links.js';
import type { DeletionSpool } from './deletion-spool.js';
import type { MachineErrands } from './machine-errands.js';

/** Machines that are reported. */
const MAX_TOLD = 20;

export interface AwayMachine {
  machine: string;
  /** Unix time at which it left; null when it has not been here since the start. */
  since_ms: number | null;
  /** Number of its deletions in lcc.db, 100 000 at most. */
  files: number;
  /** Pages of more of them in spool/fsm. */
  pages: number;
}

/** In the order of their ids, 20 at most: one look-up each. Their content is not counted: that would be a
 * scan of all urls. */
export function machinesAway(parts: {
  stores: StoreRegister;
  freed: FreedStore;
  fsm: DeletionSpool;
  errands: MachineErrands;
  links: BmLinks;
}): AwayMachine[] {
  const { stores, freed, fsm, errands, links } = parts;
  const pages = fsm.pagesByMachine();
  return [...new Set([...stores.machines(), ...freed.machines(), ...pages.keys()])]
    .filter(machine => !errands.reaches(machine))
    .toSorted()
    .slice(0, MAX_TOLD)
    .map(machine => ({
      machine,
      since_ms: links.leftAt(machine) ?? null,
      files: freed.countOf(machine),
      pages: pages.get(machine) ?? 0,
    }));
}
