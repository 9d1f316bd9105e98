/** lccd-soft put together: publications, contents, rails, what is noted of them; and its end. */
import type { Running, Services } from '../../daemon/types.js';
import { ClearDatabase } from '../../db/clear/database.js';
import { DAEMON_BUSY_MS } from '../../db/clear/open.js';
import { DatabaseWatch } from '../../db/sqlite/watch.js';
import { makeDirectoryDurably } from '../../lib/durable.js';
import { LccError, messageOf } from '../../lib/errors.js';
import { holderOf, tryLock } from '../../lib/lock.js';
import type { SoftStatus } from '../figures.js';
import { clearOptions, type ClearOptions } from '../options.js';
import { Commits } from '../rails/commits.js';
import { Fleet } from '../rails/fleet.js';
import { readSecrets } from '../rails/secrets.js';
import { RailsStatus } from '../rails/status.js';
import { Bodies } from './bodies.js';
import { Generator } from './generator.js';
import { removeLeftNames, Replays } from './leftovers.js';
import { Publisher } from './publisher.js';

export async function startSoft(services: Services): Promise<Running> {
  const { config, log } = services;
  const options = clearOptions(config);
  makeDirectoryDurably(config.home.clear, 0o750);
  const lockPath = options.lockPath('soft');
  const lock = tryLock(lockPath);
  if (lock === undefined)
    throw new LccError('peer.unavailable', `${lockPath}: held by ${holderOf(lockPath)}; stop that one first`);
  let db: ClearDatabase | undefined;
  try {
    db = ClearDatabase.open(options.path, DAEMON_BUSY_MS);
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
  const bodies = new Bodies({
    dir: options.soft.bodiesDir,
    ...options.soft,
    isNeeded: sha => db.backlog.needsBody(sha),
    log,
  });
  const replays = new Replays(db, bodies, commits, clock);
  const fleet = new Fleet({
    db,
    commits,
    clock,
    log,
    limits: options,
    op: 'P',
    secrets: () => readSecrets(options.secretsFile),
    bodyOf: row => replays.bodyOf(row),
    keepBody: ({ sha }) => (sha === '' ? sha : bodies.keep(sha)),
  });
  const source = new Generator(options.soft, options.sender, clock);
  const publisher = new Publisher({ db, fleet, commits, bodies, source, clock, log, limits: options, fail });
  const ending = new AbortController();
  const rails = new RailsStatus(db.backlog, clock);

  removeLeftNames(db, fleet, commits);
  every(options.refreshMs, () => {
    fleet.refresh();
    bodies.sweep();
  });
  every(options.pollMs, () => publisher.wake());
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
      () => 'start lccd-soft again',
    );
    try {
      while (!ending.signal.aborted) {
        const seen = db.version();
        publisher.wake();
        await watcher.changedSince(seen, ending.signal);
      }
    } finally {
      watcher.close();
    }
  }

  return {
    status(): SoftStatus {
      const all = rails.of(fleet.rails);
      const sum = (of: 'waiting' | 'sending') => all.reduce((total, rail) => total + rail[of], 0);
      const pages = db.soft.waitingCount();
      return {
        idle: pages === 0 && sum('waiting') + sum('sending') === 0 && commits.waitingCount === 0,
        database_trouble: commits.trouble ?? null,
        rails: all,
        generation_error: publisher.lastError === '' ? null : publisher.lastError,
        pages_to_publish: pages,
        pages_generating: publisher.generatingCount,
        pages_on_rails: publisher.onRailsCount,
        memory_bytes: bodies.memoryBytes,
        spool_bytes: bodies.spoolBytes,
        pages_generated: publisher.generatedCount,
        generations_failed: publisher.failedCount,
        pages_gone: publisher.goneCount,
        publications_done: publisher.doneCount,
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
      publisher.stop();
      ending.abort();
      await fleet.stop(options.graceMs);
      source.close();
      if (!commits.flush()) log.warn('what is done could not be noted: it will be done once more');
      fleet.close();
    },
  };
}
