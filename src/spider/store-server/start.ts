/** lccstored put together: listeners for spiders, what keeps their records, and its end. */
import { endpointsToListen, listenAll } from '../../daemon/listen-all.js';
import { startLocked } from '../../daemon/locked.js';
import type { Bound, Connection, Running, Services } from '../../daemon/types.js';
import { StoreDatabase } from '../../db/spider/database.js';
import type { Marks } from '../../db/sqlite/marks.js';
import { makeDirectoryDurably } from '../../lib/durable.js';
import { FairShare } from '../../lib/fair-share.js';
import { step } from '../../lib/steps.js';
import { STORE_HELLO } from '../../wire/spider-record.js';
import type { StoreStatus } from './figures.js';
import { isFull } from './group-writer.js';
import { PendingRecords } from './pending-records.js';
import { storeOptions } from './options.js';
import { readBack } from './read-back.js';
import { RecordFiles } from './record-files.js';
import { StoreSession, type StoreCount } from './session.js';
import { FileUpkeep } from './file-upkeep.js';

/** Where spiders connect when an endpoint names no port. */
export const DEFAULT_STORE_PORT = 9022;

/** Connections at a time. */
const MAX_CONNECTIONS = 256;
const PLACES: Bound = {
  key: MAX_CONNECTIONS,
  whose: 'spiders',
  machines: true,
  // The spider must not take this server for one that does not acknowledge.
  say: () => STORE_HELLO,
};

/**
 * @throws LccError `usage` where no endpoint is given, `peer.unavailable` when another process has the
 *   store, as StoreDatabase.open
 */
export async function startStore(services: Services): Promise<Running> {
  const endpoints = endpointsToListen(
    'spider.store_listen',
    services.settings.spider.storeListen,
    DEFAULT_STORE_PORT,
  );
  const { dir, lockPath } = storeOptions(services);
  makeDirectoryDurably(dir, 0o750);
  return startLocked(lockPath, services.log, async () => {
    const store = await openStore(services);
    const { listens, close } = await listenAll(services, endpoints, store.accept, PLACES);
    return {
      status: (): StoreStatus => ({ ...store.status(), listens }),
      async stop() {
        close();
        await store.stop();
      },
    };
  });
}

/** A store that takes connections until it is stopped. */
interface OpenStore {
  accept: (connection: Connection) => void;
  status: () => Omit<StoreStatus, 'listens'>;
  stop: () => Promise<void>;
}

async function openStore(services: Services): Promise<OpenStore> {
  const { clock, log } = services;
  const options = storeOptions(services);
  const fail = (error: unknown) => services.fail(error);
  const db = StoreDatabase.open(options.dbPath);
  const files = new RecordFiles(options.dir);
  const marks = await agreed(db, files, services);
  const sessions = new Map<StoreSession, Promise<void>>();
  const relieved = () => {
    for (const session of sessions.keys()) session.stir();
  };
  const committed = () => marks.committed();
  const pending = new PendingRecords({ ...options, db, files, clock, log, relieved, committed, fail });
  const upkeep = new FileUpkeep({ db, files, pending, clock, fail });
  const counts: Record<StoreCount, number> = {
    records_received: 0,
    bytes_received: 0,
    records_kept: 0,
    acks_dropped: 0,
    streams_damaged: 0,
    records_cut: 0,
    records_lost: 0,
  };
  const counted = (what: StoreCount, by: number) => void (counts[what] += by);
  const share = new FairShare();
  let isStopping = false;

  return {
    accept(connection) {
      const session = new StoreSession(
        { options, clock, log, files, pending, share, counted, fail },
        connection,
      );
      const ended = session.run().finally(() => void sessions.delete(session));
      sessions.set(session, ended);
      ended.catch(fail);
      if (isStopping) session.stop();
    },
    status: () => ({
      idle: pending.records === 0,
      disk_trouble: pending.trouble ?? null,
      connections: sessions.size,
      max_connections: MAX_CONNECTIONS,
      records_pending: pending.records,
      bytes_pending: pending.bytes,
      rows_written: pending.counts.rows,
      files_made: pending.counts.files,
      ...counts,
    }),
    async stop() {
      isStopping = true;
      for (const session of sessions.keys()) session.stop();
      await upkeep.stop();
      await pending.stop();
      if (pending.trouble === undefined) await Promise.allSettled(sessions.values());
      marks.stop();
      db.close();
    },
  };
}

/** Makes rows and files agree, and says so where the database is not the one served last. @returns the marks
 * beside it */
async function agreed(db: StoreDatabase, files: RecordFiles, services: Services): Promise<Marks> {
  const { clock, log } = services;
  try {
    const old = db.wentBack();
    if (old !== undefined) log.error(old, { path: db.path });
    files.tidy();
    await readBack({ db, files, log });
    const failed = (error: unknown) => {
      if (isFull(error)) return true;
      services.fail(error);
      return false;
    };
    const marks = db.newMarks({ clock, log, failed, noted: () => step('stored.mark.noted') });
    marks.start();
    return marks;
  } catch (error) {
    db.close();
    throw error;
  }
}
