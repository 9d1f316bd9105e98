/** Work besides: deletions for machines that are away, and the chores. */
import type { Services } from '../../daemon/types.js';
import { Spool } from '../../lib/spool.js';
import { DeletionSpool } from '../deletion-spool.js';
import { freeNumber } from '../freed-numbers.js';
import { housekeeping } from '../housekeeping.js';
import { audits } from '../housekeeping/audits.js';
import { ContentAges } from '../housekeeping/content-ages.js';
import { decidedRemovals } from '../housekeeping/decided-removals.js';
import { departures } from '../housekeeping/departures.js';
import { heldRecount } from '../housekeeping/held-recount.js';
import { outsideChanges } from '../housekeeping/outside-changes.js';
import { tombstones } from '../housekeeping/tombstones.js';
import { TruthEffects } from '../housekeeping/truth-effects.js';
import { unusedFolders } from '../housekeeping/unused-folders.js';
import type { Dispatch } from './dispatch.js';
import type { OpenStore } from './open-store.js';

export type Upkeep = ReturnType<typeof upkeepOf>;

export function upkeepOf(
  services: Services,
  { db, store, marks, setPlaces, logBrake, failed }: OpenStore,
  { dispatcher, deletions, errands }: Dispatch,
) {
  const { home, settings, clock, log } = services;
  const onCommit = () => deletions.pump();
  const fsm = new DeletionSpool({
    spool: new Spool({
      dir: home.fsmSpool,
      steps: 'qm.fsm',
      fail: error => services.fail(error),
      log,
    }),
    store,
    clock,
    log,
    pageFiles: settings.qm.fsmPageFiles,
    // Those of a kept home stay in lcc.db, which is in the engine.
    awayMs: services.kept().isKept ? Infinity : settings.qm.fsmAwayMs,
    maxBytes: settings.qm.fsmMaxBytes,
    isHere: machineid => errands.reaches(machineid),
    returned: onCommit,
    failed,
  });
  const truthEffects = new TruthEffects({ store, clock, log, changed: pid => dispatcher.reload(pid) });
  const all = [
    outsideChanges(db, () => {
      dispatcher.reload();
      marks.committed();
    }),
    tombstones(store, clock, settings.qm.tombstoneMs),
    setPlaces,
    decidedRemovals({ store, clock, log, sliceUrls: settings.qm.sliceUrls, onCommit }),
    departures({
      store,
      clock,
      log,
      sliceUrls: settings.qm.sliceUrls,
      onCommit,
      changed(pid) {
        dispatcher.reload(pid);
        if (!store.providers.has(pid)) void freeNumber(services, pid);
      },
    }),
    heldRecount({ store, clock, log }),
    unusedFolders(store),
    audits({ store, clock, log, onSet: set => dispatcher.addSet(set) }),
    truthEffects,
    new ContentAges({
      store,
      clock,
      log,
      oldMs: settings.qm.oldFilesMs,
      expireMs: settings.qm.expireMs,
      onCommit,
    }),
  ];
  const chores = housekeeping(clock, all, failed, () => !logBrake.isOn);
  return {
    fsm,
    truthEffects,
    start() {
      chores.start();
      fsm.start();
    },
    async stop() {
      chores.stop();
      await fsm.stop();
    },
  };
}
