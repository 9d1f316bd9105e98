/** What lccd-hard and lccd-soft have in common: lock, database, what is done again and again, logins, the end. */
import type { Running, Services } from '../daemon/types.js';
import { ClearDatabase } from '../db/clear/database.js';
import { DAEMON_BUSY_MS } from '../db/clear/open.js';
import { DatabaseWatch } from '../db/sqlite/watch.js';
import { makeDirectoryDurably } from '../lib/durable.js';
import { LccError, messageOf } from '../lib/errors.js';
import { holderOf, tryLock } from '../lib/lock.js';
import { clearOptions, type ClearOptions } from './options.js';
import { Commits } from './rails/commits.js';
import type { Fleet } from './rails/fleet.js';
import { readSecrets, type Secrets } from './rails/secrets.js';

/** What a daemon of cache clearing is made of. */
export interface ClearParts {
  services: Services;
  options: ClearOptions;
  db: ClearDatabase;
  commits: Commits;
  secrets: () => Secrets;
  fail: (error: unknown) => void;
}

/**
 * Holds the lock of a daemon and its database until `stop`.
 * @throws LccError `peer.unavailable` when another process has the lock; as ClearDatabase.open, and whatever `run` throws
 */
export async function startClearing(
  services: Services,
  daemon: 'hard' | 'soft',
  run: (parts: ClearParts) => Running,
): Promise<Running> {
  const { config, clock, log } = services;
  const options = clearOptions(config);
  makeDirectoryDurably(config.home.clear, 0o750);
  const lockPath = options.lockPath(daemon);
  const lock = tryLock(lockPath);
  if (lock === undefined)
    throw new LccError('peer.unavailable', `${lockPath}: held by ${holderOf(lockPath)}; stop that one first`);
  let db: ClearDatabase | undefined;
  try {
    db = ClearDatabase.open(options.path, DAEMON_BUSY_MS);
    const fail = (error: unknown) => services.fail(error);
    const commits = new Commits({ db, clock, log, ...options.commits, fail });
    const secrets = () => readSecrets(options.secretsFile);
    const running = run({ services, options, db, commits, secrets, fail });
    return {
      ...running,
      async stop() {
        await running.stop();
        db?.close();
        lock.release();
      },
    };
  } catch (error) {
    log.debug('start failed', { error: messageOf(error) });
    db?.close();
    lock.release();
    throw error;
  }
}

/** What a daemon does until its end. */
export class Rounds {
  readonly #parts: ClearParts;
  readonly #ending = new AbortController();

  constructor(parts: ClearParts) {
    this.#parts = parts;
  }

  get isOver(): boolean {
    return this.#ending.signal.aborted;
  }

  /** Does something again and again. */
  every(delayMs: number, action: () => void): void {
    const { services, fail } = this.#parts;
    services.clock.after(delayMs, () => {
      if (this.isOver) return;
      try {
        action();
      } catch (error) {
        // Others write for long: the next time will do.
        if (!(error instanceof LccError) || error.code !== 'try.later') fail(error);
      }
      this.every(delayMs, action);
    });
  }

  /** Calls `wake` at once, and soon after whatever others commit. */
  watch(daemon: string, wake: () => void): void {
    void this.#watch(daemon, wake).catch(this.#parts.fail);
  }

  end(): void {
    this.#ending.abort();
  }

  async #watch(daemon: string, wake: () => void): Promise<void> {
    const { db, services } = this.#parts;
    const watcher = new DatabaseWatch(
      db.path,
      () => db.version(),
      services.clock,
      () => `start ${daemon} again`,
    );
    try {
      while (!this.isOver) {
        const seen = db.version();
        wake();
        await watcher.changedSince(seen, this.#ending.signal);
      }
    } finally {
      watcher.close();
    }
  }
}

/** Reads the logins of rails again; a file that cannot be used changes nothing. */
export function reloadLogins({ services: { log } }: ClearParts, fleet: Fleet): void {
  try {
    fleet.reload();
    log.info('logins of rails reloaded');
  } catch (error) {
    log.error('file of secrets refused; rails keep their logins', { error: messageOf(error) });
  }
}

/** Notes what is done, and gives up what is under way. */
export function closeFleet({ commits, services: { log } }: ClearParts, fleet: Fleet): void {
  if (!commits.flush()) log.warn('finished work not stored; it will be repeated');
  fleet.close();
}
