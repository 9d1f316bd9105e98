/** The Queue Manager put together: store, intake, dispatcher, deletions, links, and what the operator can tell it. */
import { Checkpoints } from '../db/sqlite/checkpoints.js';
import { openOrSalvage } from '../db/sqlite/salvage.js';
import { lastGiven, raiseCounters } from '../db/sqlite/counters.js';
import { storageError } from '../db/sqlite/open.js';
import { QueueStore } from '../db/queue/store.js';
import { Marks } from '../db/sqlite/marks.js';
import { wentBack } from '../db/sqlite/restored.js';
import { hasContent } from '../db/names/store-mark.js';
import type { Bound, Running, Services } from '../daemon/types.js';
import { xmlLimitsOf } from '../config/limits.js';
import type { Endpoint } from '../lib/endpoint.js';
import { roomlessness } from '../lib/disk-room.js';
import { DutyCycle } from '../lib/duty-cycle.js';
import { LccError } from '../lib/errors.js';
import { holderOf, tryLock } from '../lib/lock.js';
import { Spool } from '../lib/spool.js';
import { READ_AS_UTC, zoneNotUnderstood } from '../lib/zone.js';
import { errorElement, linkLimitsOf } from '../wire/messages.js';
import { mtimeOf } from './mtime.js';
import { machinesAway } from './away.js';
import { BmLinks } from './bm-links.js';
import { controlsOf } from './controls.js';
import { Deletions } from './deletions.js';
import { Dispatcher } from './dispatch.js';
import { FsmSpool } from './fsm.js';
import { FullDisk } from './full-disk.js';
import { slotsOf } from '../config/hours.js';
import { Housekeeping } from './housekeeping.js';
import { Ages } from './housekeeping/ages.js';
import { DecidedRemovals } from './housekeeping/decided-removals.js';
import { SetPlaces } from './housekeeping/set-places.js';
import { HeldRecount } from './housekeeping/held-recount.js';
import { OutsideChanges } from './housekeeping/outside-changes.js';
import { Tombstones } from './housekeeping/tombstones.js';
import { Intake } from './intake.js';
import { SyncPoints } from './sync-points.js';
import { UnsLinks } from './uns-links.js';

/** Urls of one provider before an equal that waits for a slot gets it, in windows. */
const TURN_WINDOWS = 2;
/** Sets of a provider kept in memory of which nothing has been taken; to read so many takes a tenth of a millisecond. */
const UNTOUCHED_SETS = 128;
/** Sets of a provider whose urls failed before others have to wait for those to be due; some 20 MB. */
const SLEEPING_SETS = 20_000;
/** Each kind has places of its own: neither can keep the other out. */
const UNS_PLACES: Bound = { key: 'qm.max_connections', whose: 'UNSes', say: errorElement };
const BM_PLACES: Bound = { key: 'qm.max_connections', whose: 'Bot Managers', say: errorElement };
/** A disk with less is full, though no commit fails for the moment. */
const SOME_ROOM_BYTES = 64 * 1024;

/**
 * Starts the Queue Manager on `$LCC_HOME/lcc.db`.
 * @throws LccError `try.later` when another one has the database
 */
export async function startQueueManager(
  services: Services,
  endpoints: { uns: readonly Endpoint[]; bm: readonly Endpoint[] },
): Promise<Running> {
  const { config, clock, log } = services;
  const path = config.home.db;
  const zone = zoneNotUnderstood();
  if (zone !== undefined) log.warn(`TZ ${READ_AS_UTC}`, { tz: zone });
  const lock = tryLock(`${path}.lock`);
  if (lock === undefined)
    throw new LccError('try.later', `${path}: ${holderOf(`${path}.lock`)} has it open; stop that first`);
  const db = openOrSalvage(path, clock.nowMs(), log);
  const raised = raiseCounters(db);
  const old = wentBack(db, path);
  if (old !== undefined) {
    db.close();
    lock.release();
    throw new LccError('config', `${path}: ${old}`);
  }
  if (raised.length > 0) log.warn('numbers given out had been forgotten', { counters: raised.join(' ') });
  if (lastGiven(db, 'seq') === 0 && hasContent(config.home.store))
    log.warn(
      'the database is empty and the store is not: put back a backup of lcc.db and run lccfsck --repair --restored, or lccfsck --repair --remove-orphans empties the store',
      { path, store: config.home.store },
    );
  const setPlaces = new SetPlaces({ db, log, fail: error => services.fail(error) });
  setPlaces.begin();
  const duty = new DutyCycle<number>(clock);
  const checkpoints = new Checkpoints(db, log, () => duty.isYielding);
  const store = new QueueStore(db, {
    committed() {
      checkpoints.committed();
      marks.committed();
    },
    errorsKept: config.get('qm.errors_kept'),
    retries: config.get('qm.retries'),
    mtimeOf,
    nowS: () => Math.floor(clock.nowMs() / 1000),
  });
  const fullDisk = new FullDisk(
    clock,
    log,
    () => roomlessness(config.home.dir, SOME_ROOM_BYTES) === undefined,
  );
  /** A full disk may have room again; after anything else what SQLite holds in memory must not be trusted. */
  const failed = (error: unknown): boolean => {
    if (error instanceof LccError && error.code === 'io.full') {
      fullDisk.failed(error.message);
      return true;
    }
    services.fail(error);
    return false;
  };
  const marks = new Marks(db, path, { clock, log, failed: error => failed(storageError(path, error)) });
  marks.start();

  const dispatcher = new Dispatcher({
    store,
    clock,
    duty,
    log,
    window: config.get('qm.lane_window'),
    untouchedSets: UNTOUCHED_SETS,
    sleepingSets: SLEEPING_SETS,
    slots: slotsOf(config.get('qm.slots')),
    bandwidthBytesPerS: config.get('qm.bandwidth_bytes_per_s'),
    paceMs: config.get('qm.pace_ms'),
    maxContentBytes: config.get('bot.max_content_bytes'),
    lanes: {
      overbookPercent: config.get('qm.overbook_percent'),
      sharedWindow: config.get('qm.shared_window'),
      turn: config.get('qm.lane_window') * TURN_WINDOWS,
      ageingMs: config.get('qm.ageing_ms'),
      perHost: config.get('qm.max_connections_per_host'),
      delays: { gridMs: config.get('qm.delay_grid_ms'), horizonMs: config.get('qm.delay_horizon_ms') },
    },
    backoff: { minMs: config.get('qm.backoff_min_ms'), maxMs: config.get('qm.backoff_max_ms') },
    retryDelayMs: config.get('qm.retry_delay_ms'),
    random: Math.random,
    failed,
    committed: () => deletions.pump(),
    atReturn: action => process.nextTick(action),
  });
  const deletions = new Deletions(
    store.freed,
    () => dispatcher.nextId(),
    fid => dispatcher.deleted(fid),
  );
  const intake = new Intake({
    duty,
    store,
    clock,
    log,
    fuse: { percent: config.get('qm.fuse_percent'), urls: config.get('qm.fuse_urls') },
    sliceUrls: config.get('qm.slice_urls'),
    fullSetPeriodMs: config.get('qm.full_set_period_ms'),
    isFetching: () => dispatcher.isFetching,
    pagesWritten: () => checkpoints.written,
    onSet: set => dispatcher.addSet(set),
    onCommit: (pid, haveChanged) => {
      deletions.pump();
      dispatcher.resubmitted(pid, haveChanged);
    },
  });
  const maxQueued = config.get('qm.max_queue_urls');
  const unsLinks = new UnsLinks({
    intake,
    endpoints: endpoints.uns,
    listen: (endpoint, onConnection) => services.listen(endpoint, onConnection, UNS_PLACES),
    clock,
    log,
    xml: xmlLimitsOf(config),
    helloTimeoutMs: config.get('wire.hello_timeout_ms'),
    maxHelloBytes: config.get('wire.max_hello_bytes'),
    stallTimeoutMs: config.get('wire.stall_timeout_ms'),
    queued: () => store.providers.waiting() - store.absorb.unfinished(),
    maxQueued,
    reopenBelow: Math.max(1, Math.floor((maxQueued * config.get('qm.reopen_percent')) / 100)),
    failed,
  });
  const syncPoints = new SyncPoints({
    store,
    clock,
    log,
    intervalMs: config.get('qm.sync_interval_ms'),
    window: config.get('qm.check_window'),
    nextId: () => dispatcher.nextId(),
    onSet: set => dispatcher.addSet(set),
    onCommit: () => deletions.pump(),
    failed,
  });
  const bmLinks = new BmLinks({
    dispatcher,
    deletions,
    syncPoints,
    log,
    admit(machineId, storeId) {
      if (!store.stores.fits(machineId, storeId)) return false;
      if (!store.stores.knows(machineId, storeId))
        store.transaction(() => store.stores.remember(machineId, storeId));
      return true;
    },
    link: {
      ...linkLimitsOf(config),
      isPrompt: true,
      clock,
    },
  });
  const onCommit = () => deletions.pump();
  const fsm = new FsmSpool({
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
  const housekeeping = new Housekeeping(
    clock,
    [
      new OutsideChanges(db, () => {
        dispatcher.reload();
        marks.committed();
      }),
      new Tombstones(store, clock, config.get('qm.tombstone_ms')),
      setPlaces,
      new DecidedRemovals({ store, clock, log, sliceUrls: config.get('qm.slice_urls'), onCommit }),
      new HeldRecount({ store, clock, log }),
      new Ages({
        store,
        clock,
        log,
        oldMs: config.get('qm.old_files_ms'),
        expireMs: config.get('qm.expire_ms'),
        onCommit,
      }),
    ],
    failed,
  );

  dispatcher.start();
  await unsLinks.open();
  const bmListeners = await Promise.all(
    endpoints.bm.map(endpoint =>
      services.listen(endpoint, connection => bmLinks.accept(connection), BM_PLACES),
    ),
  );
  housekeeping.start();
  fsm.start();

  return {
    status() {
      const rows = store.providers.waiting();
      const { isBusy, ...doing } = dispatcher.status();
      const held = store.held.waiting();
      return {
        idle: !isBusy && intake.open === 0 && held.decided === 0 && syncPoints.checking === 0,
        rows_queued: rows,
        no_room: fullDisk.reason ?? null,
        absorbing: intake.open,
        ...doing,
        unses: unsLinks.connected,
        unses_shut_out: unsLinks.shut,
        bot_managers: bmLinks.status(),
        machines_refused: bmLinks.refused(),
        machines_away: machinesAway({
          stores: store.stores,
          freed: store.freed,
          fsm,
          deletions,
          links: bmLinks,
        }),
        machines_checking: syncPoints.checking,
        held_sets: held.sets,
        held_urls: held.urls,
        freed_waiting: store.freed.count(),
        freed_pages_spooled: fsm.entries,
        ...fsm.aside,
      };
    },
    controls: controlsOf(store, dispatcher, log),
    async stop() {
      fullDisk.stop();
      housekeeping.stop();
      await fsm.stop();
      await unsLinks.stop();
      for (const listener of bmListeners) void listener.close();
      bmLinks.stop();
      syncPoints.stop();
      dispatcher.stop();
      checkpoints.close();
      await marks.stop();
      store.close();
      lock.release();
    },
  };
}
