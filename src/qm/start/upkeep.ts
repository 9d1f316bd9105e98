/** Work besides: deletions for machines that are away, and the chores. */
import type { Services } from '../../daemon/types.js';
import { Spool } from '../../lib/spool.js';
import { DeletionSpool } from '../deletion-spool.js';
import { FreedNumbers } from '../freed-numbers.js';
import { Housekeeping } from '../housekeeping.js';
import { Audits } from '../housekeeping/audits.js';
import { ContentAges } from '../housekeeping/content-ages.js';
import { DecidedRemovals } from '../housekeeping/decided-removals.js';
import { Departures } from '../housekeeping/departures.js';
import { HeldRecount } from '../housekeeping/held-recount.js';
import { OutsideChanges } from '../housekeeping/outside-changes.js';
import { Tombstones } from '../housekeeping/tombstones.js';
import { TruthEffects } from '../housekeeping/truth-effects.js';
import { UnusedFolders } from '../housekeeping/unused-folders.js';
import type { Dispatch } from './dispatch.js';
import type { OpenStore } from './open-store.js';

export interface Upkeep {
  fsm: DeletionSpool;
  truthEffects: TruthEffects;
  start(): void;
  stop(): Promise<void>;
}

export function upkeepOf(
  services: Services,
  { db, store, marks, setPlaces, logBrake, failed }: OpenStore,
  { dispatcher, deletions }: Dispatch,
): Upkeep {
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
    isHere: machineid => deletions.reaches(machineid),
    returned: onCommit,
    failed,
  });
  const numbers = new FreedNumbers(services);
  const truthEffects = new TruthEffects({ store, clock, log, changed: pid => dispatcher.reload(pid) });
  const chores = [
    new OutsideChanges(db, () => {
      dispatcher.reload();
      marks.committed();
    }),
    new Tombstones(store, clock, settings.qm.tombstoneMs),
    setPlaces,
    new DecidedRemovals({ store, clock, log, sliceUrls: settings.qm.sliceUrls, onCommit }),
    new Departures({
      store,
      clock,
      log,
      sliceUrls: settings.qm.sliceUrls,
      onCommit,
      changed(pid) {
        dispatcher.reload(pid);
        if (!store.providers.has(pid)) numbers.free(pid);
      },
    }),
    new HeldRecount({ store, clock, log }),
    new UnusedFolders(store),
    new Audits({
      store,
      clock,
      log,
      onSet: set => dispatcher.addSet(set),
    }),
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
  const housekeeping = new Housekeeping(clock, chores, failed, () => !logBrake.isOn);
  return {
    fsm,
    truthEffects,
    start() {
      housekeeping.start();
      fsm.start();
    },
    async stop() {
      housekeeping.stop();
      await fsm.stop();
    },
  };
}
