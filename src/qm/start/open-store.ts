/** lcc.db of this Queue Manager: locked, repaired where it must be, and nobody else's until it is closed. */
import { Checkpoints } from '../../db/sqlite/checkpoints.js';
import { beforeFirst } from '../../config/shards.js';
import { lastGiven, raiseCounters } from '../../db/sqlite/counters.js';
import { Marks } from '../../db/sqlite/marks.js';
import { storageError } from '../../db/sqlite/open.js';
import { QueueStore } from '../../db/queue/store.js';
import { wentBack } from '../../db/sqlite/restored.js';
import { openOrSalvage } from '../../db/sqlite/salvage.js';
import { hasContent } from '../../db/names/store-mark.js';
import type { Services } from '../../daemon/types.js';
import { roomlessness } from '../../lib/disk-room.js';
import { DutyCycle } from '../../lib/duty-cycle.js';
import { LccError } from '../../lib/errors.js';
import { holderOf, tryLock } from '../../lib/lock.js';
import type { Db } from '../../lib/sqlite.js';
import { fullDiskOf, type FullDisk } from '../full-disk.js';
import { GonePages } from '../gone-pages-fuse.js';
import { LogBrake } from '../log-brake.js';
import { retryRule } from '../retries.js';
import { SetPlaces } from '../housekeeping/set-places.js';

/** A disk with less is full, though no commit fails for the moment. */
const SOME_ROOM_BYTES = 64 * 1024;

export interface OpenStore {
  db: Db;
  store: QueueStore;
  checkpoints: Checkpoints;
  logBrake: LogBrake;
  marks: Marks;
  setPlaces: SetPlaces;
  fullDisk: FullDisk;
  gonePages: GonePages;
  /** Providers with large sets in work, and the others, which must be given room. */
  duty: DutyCycle<number>;
  /** A transaction failed; true: try again later. After anything but a full disk what SQLite holds in memory
   * must not be trusted. */
  failed: (error: unknown) => boolean;
  close(): void;
}

/**
 * @throws LccError `try.later` when another Queue Manager has the database, `config` when it is older than
 * what was handed out
 */
export function openStore(
  services: Pick<Services, 'home' | 'settings' | 'clock' | 'log' | 'fail' | 'kept'>,
): OpenStore {
  const { home, settings, clock, log } = services;
  const path = home.db;
  const lock = tryLock(`${path}.lock`);
  if (lock === undefined)
    throw new LccError('try.later', `${path}: ${holderOf(`${path}.lock`)} has it open; stop that first`);
  const { shard } = settings.cluster;
  const db = openOrSalvage(path, clock.nowMs(), log, { shard });
  const raised = raiseCounters(db, shard);
  const old = wentBack(db, path);
  if (old !== undefined) {
    db.close();
    lock.release();
    throw new LccError('config', `${path}: ${old}`);
  }
  if (raised.length > 0)
    log.warn('counters raised: the database did not have all numbers given out', {
      counters: raised.join(' '),
    });
  const last = lastGiven(db, 'seq');
  if (last === beforeFirst(last) && hasContent(home.store))
    log.warn(
      'database empty, but not the store; put back a backup of lcc.db and run lccfsck --repair --restored, or empty the store with lccfsck --repair --remove-orphans',
      { path, store: home.store },
    );
  const setPlaces = new SetPlaces({ db, log, fail: error => services.fail(error) });
  setPlaces.begin();
  const duty = new DutyCycle<number>(clock);
  const kept = services.kept();
  const checkpoints = new Checkpoints(db, log, () => duty.isYielding, kept.isKept);
  const logBrake = new LogBrake({ kept, checkpoints, clock });
  const fuse = { percent: settings.qm.fusePercent, urls: settings.qm.fuseUrls };
  const gonePages = new GonePages(fuse, clock, log);
  const store = new QueueStore(db, {
    committed() {
      checkpoints.committed();
      logBrake.committed();
      marks.committed();
    },
    retries: retryRule(settings.qm.retries),
    gone: gonePages,
    nowS: () => Math.floor(clock.nowMs() / 1000),
  });
  const hasRoom = () => roomlessness(home.dir, SOME_ROOM_BYTES) === undefined;
  const fullDisk = fullDiskOf(clock, log, hasRoom);
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
  return {
    db,
    store,
    checkpoints,
    logBrake,
    marks,
    setPlaces,
    fullDisk,
    gonePages,
    duty,
    failed,
    close() {
      fullDisk.stop();
      checkpoints.close();
      marks.stop();
      store.close();
      lock.release();
    },
  };
}
