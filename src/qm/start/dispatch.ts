/** Traffic with Bot Managers: fetches, deletions, sync points. */
import type { Bound, Services } from '../../daemon/types.js';
import { olderStore, readStoreWord, strangeStore } from '../../db/names/store-mark.js';
import type { Endpoint } from '../../lib/endpoint.js';
import { errorElement, channelLimitsOf } from '../../wire/messages.js';
import { BmLinks } from '../bm-links.js';
import { Deletions } from '../deletions.js';
import { Dispatcher } from '../dispatch.js';
import { MachineErrands } from '../machine-errands.js';
import { Adoptions } from '../moves/adoptions.js';
import { SendingRight } from '../sending-right.js';
import { SyncPoints } from '../sync-points.js';
import type { OpenStore } from './open-store.js';

/** Urls of one provider before an equal that waits for a slot gets it, in windows. */
const TURN_WINDOWS = 2;
/** Requests sent beyond the free slots of a Bot Manager. */
const OVERBOOK_PERCENT = 25;
/** Wait for which a provider counts one priority higher. */
const AGEING_MS = 600_000;
/** Sets of a provider kept in memory of which nothing has been taken; to read this many takes a tenth of a
 * millisecond. */
const UNTOUCHED_SETS = 128;
/** Sets of a provider with failed urls; beyond this its other sets wait until those are due. Some 20 MB. */
const SLEEPING_SETS = 20_000;
/** A machine whose content comes from another shard is waited for so long. */
const AWAY_MS = 60_000;
/** UNSes have places of their own: neither kind can keep the other out. */
const PLACES: Bound = { key: 'qm.max_connections', whose: 'Bot Managers', machines: true, say: errorElement };

export type Dispatch = ReturnType<typeof dispatchOf>;

export function dispatchOf(services: Services, { store, duty, logBrake, failed }: OpenStore) {
  const { settings, clock, log } = services;
  const kept = services.kept();
  const dispatcher = new Dispatcher({
    store,
    clock,
    duty,
    log,
    window: settings.qm.laneWindow,
    untouchedSets: UNTOUCHED_SETS,
    sleepingSets: SLEEPING_SETS,
    slots: settings.qm.slots,
    bandwidthBytesPerS: settings.qm.bandwidthBytesPerS,
    paceMs: settings.qm.paceMs,
    userAgent: settings.bot.userAgent,
    accept: settings.uns.mime,
    maxContentBytes: settings.bot.maxContentBytes,
    lanes: {
      overbookPercent: OVERBOOK_PERCENT,
      sharedWindow: settings.qm.sharedWindow,
      turn: settings.qm.laneWindow * TURN_WINDOWS,
      ageingMs: AGEING_MS,
      perHost: settings.qm.maxConnectionsPerHost,
      perGroup: settings.qm.groupLanes,
    },
    backoff: { minMs: settings.qm.backoffMinMs, maxMs: settings.qm.backoffMaxMs },
    retryDelayMs: settings.qm.retryDelayMs,
    random: Math.random,
    failed,
    committed: () => deletions.pump(),
    maySend: () => right.isHeld,
    mayCommit: () => !logBrake.isOn,
    atReturn: action => process.nextTick(action),
  });
  const errands = new MachineErrands(dispatcher.nextId);
  const deletions = new Deletions(
    store.freed,
    errands,
    fid => dispatcher.deleted(fid),
    kept,
    () => right.isHeld,
  );
  const right = new SendingRight({
    kept,
    clock,
    log,
    lapsed: () => dispatcher.giveUp(),
    regained() {
      dispatcher.pump();
      deletions.pump();
    },
    // A lease that lapses has 0.4 of its time left.
    graceMs: settings.cluster.leaseMs / 2,
    letGo: () => bmLinks.stop(),
  });
  const syncPoints = new SyncPoints({
    store,
    clock,
    log,
    intervalMs: settings.qm.syncIntervalMs,
    window: settings.qm.checkWindow,
    errands,
    onSet: set => dispatcher.addSet(set),
    onCommit: () => deletions.pump(),
    failed,
  });
  const adoptions = new Adoptions({ clock, log, errands, patienceMs: AWAY_MS });
  const bmLinks = new BmLinks({
    dispatcher,
    errands,
    log,
    kept: services.kept(),
    refusal(machineId, said) {
      const word = readStoreWord(said);
      if (!store.stores.fits(machineId, word.id))
        return `${strangeStore(machineId)}; a second machine needs an id of its own (bm.machine_id)`;
      if (store.stores.isOlder(machineId, word)) return olderStore(machineId);
      store.transaction(() => {
        if (!store.stores.knows(machineId, word.id)) store.stores.remember(machineId, word.id);
        store.stores.noteRun(machineId, word);
      });
      return undefined;
    },
    link: { ...channelLimitsOf(settings), isPrompt: true, clock },
  });
  right.start();
  let listeners: { close(): Promise<void> }[] = [];
  return {
    dispatcher,
    errands,
    deletions,
    syncPoints,
    adoptions,
    bmLinks,
    /** Lets Bot Managers connect. */
    async listen(endpoints: readonly Endpoint[]) {
      const each = endpoints.map(endpoint =>
        services.listen(endpoint, connection => bmLinks.accept(connection), PLACES),
      );
      listeners = await Promise.all(each);
    },
    stop() {
      for (const listener of listeners) void listener.close();
      right.stop();
      bmLinks.stop();
      syncPoints.stop();
      dispatcher.stop();
    },
  };
}
