/** What is done besides: deletions for machines that are away, and the chores. */
import type { Services } from '../../daemon/types.js';
import { Spool } from '../../lib/spool.js';
import { DeletionSpool } from '../deletion-spool.js';
import { Housekeeping } from '../housekeeping.js';
import { Audits } from '../housekeeping/audits.js';
import { ContentAges } from '../housekeeping/content-ages.js';
import { DecidedRemovals } from '../housekeeping/decided-removals.js';
import { Departures } from '../housekeeping/departures.js';
import { HeldRecount } from '../housekeeping/held-recount.js';
import { OutsideChanges } from '../housekeeping/outside-changes.js';
import { Tombstones } from '../housekeeping/tombstones.js';
import { TruthEffects } from '../housekeeping/truth-effects.js';
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
  { db, store, marks, setPlaces, failed }: OpenStore,
  { dispatcher, deletions }: Dispatch,
): Upkeep {
  const { config, clock, log } = services;
  const onCommit = () => deletions.pump();
  const fsm = new DeletionSpool({
    spool: new Spool({
      dir: config.home.fsmSpool,
      steps: 'qm.fsm',
      fail: error => services.fail(error),
      log,
    }),
    store,
    clock,
    log,
    pageFiles: config.get('qm.fsm_page_files'),
    awayMs: config.get('qm.fsm_away_ms'),
    maxBytes: config.get('qm.fsm_max_bytes'),
    isHere: machineid => deletions.reaches(machineid),
    returned: onCommit,
    failed,
  });
  const truthEffects = new TruthEffects({ store, clock, log, changed: pid => dispatcher.reload(pid) });
  const chores = [
    new OutsideChanges(db, () => {
      dispatcher.reload();
      marks.committed();
    }),
    new Tombstones(store, clock, config.get('qm.tombstone_ms')),
    setPlaces,
    new DecidedRemovals({ store, clock, log, sliceUrls: config.get('qm.slice_urls'), onCommit }),
    new Departures({
      store,
      clock,
      log,
      sliceUrls: config.get('qm.slice_urls'),
      onCommit,
      changed: pid => dispatcher.reload(pid),
    }),
    new HeldRecount({ store, clock, log }),
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
      oldMs: config.get('qm.old_files_ms'),
      expireMs: config.get('qm.expire_ms'),
      onCommit,
    }),
  ];
  const housekeeping = new Housekeeping(clock, chores, failed);
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
