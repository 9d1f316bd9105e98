/** The gate, as a daemon and as a command has it. */
import { connect } from 'node:net';
import type { KeptName } from '../config/kept.js';
import type { Config } from '../config/types.js';
import { within, type Clock } from '../lib/clock.js';
import { AS_ITS_USER, errnoOf, LccError, messageOf } from '../lib/errors.js';
import { silentLog } from '../lib/log.js';
import { askStatus, controlSocket } from './ask.js';
import { KeeperLink, keeperAt, ownedBy } from './keeper-link.js';
import { OPEN_GATE, shippedWithin, type Kept, type Lease } from './kept.js';
import { keepConnected } from './reconnect.js';
import type { Services } from './types.js';

/** A keeper that listens says at once how the lease stands. */
const LEASE_TIMEOUT_MS = 5000;
/** Longest wait of a command for the engine to take what it has done. */
const COMMAND_TIMEOUT_MS = 60_000;

/** The connection of a daemon to the keeper. */
export function keeperOf(services: Services): KeeperLink {
  const { home, clock, log } = services;
  return new KeeperLink({
    connect: onConnect => services.connect(keeperAt(home.run), onConnect, 'keeper'),
    clock,
    log,
  });
}

/** The gate of a daemon, which ends when this machine owns the home no more. */
export function openKept(services: Services): Kept {
  if (services.settings.store.url === '') return OPEN_GATE;
  const link = keeperOf(services);
  link.watch(lease => {
    if (lease.state === 'standby') services.fail(new LccError('try.later', ownedBy(lease.owner)));
  });
  return link;
}

/**
 * The gate of a command; it keeps the process alive until it is closed.
 * @throws LccError `try.later` where no keeper runs, or another machine owns the home
 */
export async function keptOf(config: Config, clock: Clock): Promise<Kept> {
  const { home, settings } = config;
  if (settings.store.url === '') return OPEN_GATE;
  const { path } = keeperAt(home.run);
  await reach(path);
  const link = linkOf(config, clock);
  const told = new Promise<Lease>(resolve => void link.watch(resolve));
  const lease = await within(clock, told, LEASE_TIMEOUT_MS);
  if (lease?.state === 'owner') return link;
  link.close();
  throw new LccError(
    'try.later',
    lease === undefined ? `${path}: lccd-keep does not answer; its log says why` : ownedBy(lease.owner),
  );
}

/**
 * Resolves when a keeper that was only just started has the home; how long, the caller says by `stop`.
 * @throws LccError `try.later` when another machine owns it, or `stop` was aborted
 */
export async function whenOwned(config: Config, clock: Clock, stop: AbortSignal): Promise<void> {
  const link = linkOf(config, clock);
  try {
    const lease = await new Promise<Lease | undefined>(resolve => {
      stop.addEventListener('abort', () => resolve(undefined));
      // A home that is free is waited for.
      link.watch(each => {
        if (each.state === 'owner' || each.owner !== '') resolve(each);
      });
    });
    if (lease?.state !== 'owner')
      throw new LccError(
        'try.later',
        lease === undefined ? 'this machine does not own the home' : ownedBy(lease.owner),
      );
  } finally {
    link.close();
  }
}

/** The connection of a command to the keeper; it keeps the process alive until it is closed. */
function linkOf({ home, settings }: Config, clock: Clock): KeeperLink {
  const endpoint = keeperAt(home.run);
  const context = { net: settings.net, clock, log: silentLog, servers: new Map(), role: 'keeper' };
  return new KeeperLink({
    connect(onConnect) {
      const alive = setInterval(() => undefined, 2 ** 30);
      const peer = keepConnected(endpoint, context, onConnect);
      return {
        get connected() {
          return peer.connected;
        },
        close() {
          clearInterval(alive);
          peer.close();
        },
      };
    },
    clock,
    log: silentLog,
  });
}

/**
 * Work of a command that writes a database of the home: none of it where this machine cannot have it kept,
 * and done when it is in the engine.
 * @param limitMs longest wait for that
 * @throws LccError as `keptOf`; `try.later` when the engine has not taken it in time
 */
export async function keptWork<T>(
  config: Config,
  clock: Clock,
  name: KeptName,
  work: () => T | Promise<T>,
  limitMs = COMMAND_TIMEOUT_MS,
): Promise<T> {
  const kept = await keptOf(config, clock);
  try {
    const done = await work();
    // safeguard: the end of a command waiting for the engine
    await shippedWithin(kept, name, clock, limitMs);
    return done;
  } finally {
    kept.close();
  }
}

/**
 * For reading: what a standby has is of before.
 * @throws LccError `try.later` where another machine owns the home
 */
export async function requireNoStandby(runDir: string): Promise<void> {
  const keeper = await askStatus(controlSocket(runDir, 'lccd-keep')).catch(() => undefined);
  if (keeper?.['phase'] === 'standby') throw new LccError('try.later', ownedBy(String(keeper['home_owner'])));
}

/** @throws LccError when nobody listens there */
function reach(path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(path, () => resolve(void socket.destroy()));
    socket.on('error', error => {
      const errno = errnoOf(error);
      reject(
        errno === 'EACCES'
          ? new LccError('peer.unavailable', `${path}: permission denied; ${AS_ITS_USER}`, { cause: error })
          : new LccError(
              'try.later',
              errno === 'ENOENT' || errno === 'ECONNREFUSED'
                ? `${path}: lccd-keep does not run; start lccd (or clear store.url, if this LCC has no engine any more)`
                : `${path}: ${messageOf(error)}`,
              { cause: error },
            ),
      );
    });
  });
}
