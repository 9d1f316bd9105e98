/** Compares the store with the one that rows point into (`--store-lost` where that is gone). */
import { FsckLook } from '../db/fsck-look.js';
import { StoreRegister } from '../db/cache/stores.js';
import type { Repairs } from '../db/repairs.js';
import { readStoreMark } from '../db/names/store-mark.js';
import type { Db } from '../db/sqlite/open.js';
import { LccError } from '../lib/errors.js';
import { dropSpooledDeletions } from './spools.js';
import type { Finding, StorePlace } from './types.js';

/** The machine the store belongs to. A store that is not there, or a new one where there was another, may be
 * a disk that is not mounted: its rows are left alone, unless the operator says that it is lost. */
export function storeOf(
  { storeDir, machineId, storeLost, fsmSpoolDir }: StorePlace,
  db: Db,
  repairs: Repairs | undefined,
  { note, report }: { note: (message: string) => void; report: (finding: Finding) => void },
): { store?: string | undefined; strange?: string } {
  const mark = readStoreMark(storeDir);
  if (mark !== undefined && machineId !== undefined && mark.machineId !== machineId)
    throw new LccError('config', `${storeDir}: the store of machine "${mark.machineId}", not "${machineId}"`);
  const whose = mark?.machineId ?? machineId;
  if (whose === undefined) return {};
  const fits =
    mark === undefined
      ? !new FsckLook(db).holds(whose)
      : mark.storeId === undefined || new StoreRegister(db).fits(whose, mark.storeId);
  if (storeLost && repairs !== undefined) {
    const files = repairs.forgetStore(whose);
    const pages = dropSpooledDeletions(fsmSpoolDir, whose);
    note(
      `the store of machine "${whose}" is given up, and with it the deletion of ${files} files and of ${pages} pages of them in spool/fsm`,
    );
    return { store: whose };
  }
  if (fits) return { store: mark?.machineId };
  const is = mark === undefined ? 'has no machine-id' : 'is another store';
  const what = `${is}, though rows point to files of "${whose}"; mount theirs, or if it is lost run lccfsck --repair --store-lost`;
  report({ kind: 'store', where: storeDir, what, repaired: false });
  return { strange: whose };
}
