/**
 * The common part of lccd-hard and lccd-soft: lock, database, what is done again and again, logins, the end.
 */
import { startLocked } from '../daemon/locked.js';
import type { Running, Services } from '../daemon/types.js';
import { ClearDatabase } from '../db/clear/database.js';
import { DAEMON_BUSY_MS } from '../db/clear/open.js';
import type { Marks } from '../db/sqlite/marks.js';
import { makeDirectoryDurably } from '../lib/durable.js';
import { LccError, messageOf } from '../lib/errors.js';
import { step } from '../lib/steps.js';
import { clearOptions, type ClearOptions } from './options.js';
import { Commits, PASSING } from './rails/commits.js';
import type { Fleet } from './rails/fleet.js';
import { readSecrets, type Secrets } from './rails/secrets.js';

/** Parts of a daemon of cache clearing. */
export interface ClearParts {
  services: Services;
  options: ClearOptions;
  db: ClearDatabase;
  commits: Commits;
  secrets: () => Secrets;
  fail: (error: unknown) => void;
  /** Something was committed, by whichever process. */
  committed: () => void;
}

/**
 * Holds the lock of a daemon and its database until `stop`.
 * @throws LccError `peer.unavailable` when another process has the lock; as ClearDatabase.open, and whatever
 * `run` throws
 */
export async function startClearing(
  services: Services,
  daemon: 'hard' | 'soft',
  run: (parts: ClearParts) => Running,
): Promise<Running> {
  const { home, clock, log } = services;
  const options = clearOptions(services);
  makeDirectoryDurably(home.clear, 0o750);
  return startLocked(options.lockPath(daemon), log, () => {
    const db = ClearDatabase.open(options.path, DAEMON_BUSY_MS);
    try {
      if (services.kept().isKept) db.leaveLog();
      const old = db.wentBack();
      if (old !== undefined) throw new LccError('config', `${options.path}: ${old}`);
      const fail = (error: unknown) => services.fail(error);
      const marks = daemon === 'hard' ? marksOf(db, services) : undefined;
      const committed = () => marks?.committed();
      const commits = new Commits({ db, clock, log, ...options.commits, committed, fail });
      const secrets = () => readSecrets(options.secretsFile);
      const running = run({ services, options, db, commits, secrets, fail, committed });
      return {
        ...running,
        async stop() {
          await running.stop();
          marks?.stop();
          db.close();
        },
      };
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

/** Marks of how far the database has come are written by one daemon: lccd-hard, without which nothing is
 * cleared. */
function marksOf(db: ClearDatabase, services: Services): Marks {
  const { clock, log } = services;
  const failed = (error: unknown) => {
    const isPassing = error instanceof LccError && PASSING.includes(error.code);
    if (!isPassing) services.fail(error);
    return isPassing;
  };
  const marks = db.newMarks({ clock, log, failed, noted: () => step('clear.mark.noted') });
  marks.start();
  return marks;
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
