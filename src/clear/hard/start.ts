/** lccd-hard put together: requests, rails, what is noted of them; and its end. */
import { makeDirectoryDurably } from '../../lib/durable.js';
import { LccError, messageOf } from '../../lib/errors.js';
import { holderOf, tryLock } from '../../lib/lock.js';
import type { Running, Services } from '../../daemon/types.js';
import { ClearDatabase } from '../../db/clear/database.js';
import { DAEMON_BUSY_MS } from '../../db/clear/open.js';
import { DatabaseWatch } from '../../db/sqlite/watch.js';
import type { HardStatus } from '../figures.js';
import { clearOptions, type ClearOptions } from '../options.js';
import { Commits } from '../rails/commits.js';
import { Fleet } from '../rails/fleet.js';
import { readSecrets } from '../rails/secrets.js';
import { RailsStatus } from '../rails/status.js';
import { RequestReader } from './reader.js';

const COUNTED_REQUESTS = 100_000;
const UPKEEP_MS = 60_000;
/** Between two pieces of a long upkeep. */
const UPKEEP_REST_MS = 50;

export async function startHard(services: Services): Promise<Running> {
  const { config, log } = services;
  const options = clearOptions(config);
  makeDirectoryDurably(config.home.clear, 0o750);
  const lockPath = options.lockPath('hard');
  const lock = tryLock(lockPath);
  if (lock === undefined)
    throw new LccError('peer.unavailable', `${lockPath}: held by ${holderOf(lockPath)}; stop that one first`);
  let db: ClearDatabase | undefined;
  try {
    db = ClearDatabase.open(options.path, DAEMON_BUSY_MS);
    db.requireSound();
    const running = run(services, options, db);
    return {
      ...running,
      async stop() {
        await running.stop();
        db?.close();
        lock.release();
      },
    };
  } catch (error) {
    log.debug('does not start', { error: messageOf(error) });
    db?.close();
    lock.release();
    throw error;
  }
}

function run(services: Services, options: ClearOptions, db: ClearDatabase): Running {
  const { clock, log } = services;
  const fail = (error: unknown) => services.fail(error);
  const commits = new Commits({ db, clock, log, ...options.commits, fail });
  const secrets = () => readSecrets(options.secretsFile);
  const fleet = new Fleet({ db, commits, clock, log, limits: options, op: 'D', secrets });
  const reader = new RequestReader({ db, fleet, commits, clock, log, limits: options, fail });
  const ending = new AbortController();
  const rails = new RailsStatus(db.backlog, clock);

  every(options.refreshMs, () => fleet.refresh());
  every(options.pollMs, () => reader.wake());
  every(UPKEEP_MS, upkeep);
  void watch().catch(fail);

  /** Does something again and again, until the end. */
  function every(ms: number, action: () => void): void {
    clock.after(ms, () => {
      if (ending.signal.aborted) return;
      try {
        action();
      } catch (error) {
        // Others write for long: the next time will do.
        if (!(error instanceof LccError) || error.code !== 'try.later') fail(error);
      }
      every(ms, action);
    });
  }

  /** Reads whatever others commit, soon after. */
  async function watch(): Promise<void> {
    const watcher = new DatabaseWatch(
      db.path,
      () => db.version(),
      clock,
      () => 'start lccd-hard again',
    );
    try {
      while (!ending.signal.aborted) {
        const seen = db.version();
        reader.wake();
        await watcher.changedSince(seen, ending.signal);
      }
    } finally {
      watcher.close();
    }
  }

  function upkeep(): void {
    if (ending.signal.aborted) return;
    const nowMs = clock.nowMs();
    const { journalMs, maxJournalRows, rejectedMs } = options.upkeep;
    commits.add(() => {
      db.queue.forgetRejectedBefore(nowMs - rejectedMs);
      if (db.journal.prune(nowMs - journalMs, maxJournalRows)) clock.after(UPKEEP_REST_MS, upkeep);
    });
  }

  return {
    status(): HardStatus {
      const queued = db.queue.count(COUNTED_REQUESTS);
      const all = rails.of(fleet.rails);
      const sum = (of: 'waiting' | 'sending') => all.reduce((total, rail) => total + rail[of], 0);
      const [waiting, sending] = [sum('waiting'), sum('sending')];
      return {
        // What waits for a rail that is down, or for its time, is for later.
        idle: queued === 0 && waiting + sending === 0 && commits.waitingCount === 0,
        database_trouble: commits.trouble ?? null,
        rails: all,
        requests_queued: queued,
        requests_in_flight: reader.inFlightCount,
        pages_waiting: waiting,
        pages_sending: sending,
        requests_completed: reader.completedCount,
        requests_rejected: reader.rejectedCount,
        pages_published: reader.publishedCount,
      };
    },
    reload() {
      try {
        fleet.reload();
        log.info('logins of rails are read again');
      } catch (error) {
        log.error('logins of rails stay as they were', { error: messageOf(error) });
      }
    },
    async stop() {
      reader.stop();
      ending.abort();
      await fleet.stop(options.graceMs);
      if (!commits.flush()) log.warn('what is done could not be noted: it will be done once more');
      fleet.close();
    },
  };
}
