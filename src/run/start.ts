/** A whole LCC put together: one lccd for each home, its children, how they are called, and who answers for
 * them. */
import { join } from 'node:path';
import type { Running, Services } from '../daemon/types.js';
import { isToBeUpgraded } from '../db/sqlite/open.js';
import { parseEndpoint } from '../lib/endpoint.js';
import { LccError, EXIT } from '../lib/errors.js';
import { tryLock } from '../lib/lock.js';
import { askStatus, controlSocket, tell as tellDaemon } from '../daemon/ask.js';
import type { KeeperLink } from '../daemon/keeper-link.js';
import type { Lease } from '../daemon/kept.js';
import { keeperOf } from '../daemon/open-kept.js';
import { Alerts } from './alerts.js';
import type { ChildSpec } from './child.js';
import { BESIDE, KINDS, STOP_ORDER } from './kinds.js';
import { Supervisor } from './supervisor.js';
import { refuseTaken } from './taken.js';
import { orderOf, tellBy } from './tell.js';
import type { Home } from '../config/home.js';
import { roomlessness } from '../lib/disk-room.js';

/**
 * Each daemon collects its young garbage with one thread. V8 would have four threads search together for the
 * few objects that live on; beside five other busy processes their help costs more than it gives: 10 µs of
 * 215 µs CPU a url (one provider alone, two cores).
 */
const NODE_FLAGS = ['--no-parallel-scavenge'];

/** Time in which all children must be ready, and in which they must have stopped before they are killed. */
const START_TIMEOUT_MS = 60_000;
/** The same for the first start after an upgrade: the queue is written again. */
const UPGRADE_TIMEOUT_MS = 3_600_000;
const STOP_TIMEOUT_MS = 9000;
const KEEPER = 'lccd-keep';
/** Longest time in which the engine takes a home that is handed over. */
const RELEASE_MS = 70_000;

/** How lccd was called, as far as it concerns its children. */
export interface LccdCall {
  /** The folder of the launchers. */
  bin: string;
  /** Options that all of them are given. */
  words: readonly string[];
  env: NodeJS.ProcessEnv;
  /** Their configuration, where there is a file of it. */
  configFile: string | undefined;
  /** Why a full disk could not be emptied, if so. */
  trap: string | undefined;
}

/** @throws LccError `peer.unavailable` when another lccd runs this LCC */
export async function startLcc(services: Services, call: LccdCall): Promise<Running> {
  const { home, settings, clock, log } = services;
  const { dir, run: runDir } = home;
  const lock = tryLock(join(runDir, 'lccd.lock'));
  if (lock === undefined)
    throw new LccError('peer.unavailable', `${dir}: another lccd runs this LCC; stop that one first`);
  if (call.trap !== undefined) log.warn('a full disk could not be emptied', { reason: call.trap });
  const children = childrenOf(services, call);
  const answers = (name: string) =>
    askStatus(controlSocket(runDir, name)).then(
      () => true,
      // One that takes long is there.
      error => error instanceof LccError && error.code === 'try.later',
    );
  await refuseTaken(children, { clock, answers, startTimeoutMs: START_TIMEOUT_MS, told: services.told });
  const isUpgrade = isToBeUpgraded(home.db);
  if (isUpgrade)
    log.warn(
      'the queue of an earlier release is written again: up to a minute for each million urls that wait',
      {
        path: home.db,
      },
    );
  const supervisor = new Supervisor({
    children,
    stopOrder: STOP_ORDER,
    clock,
    log,
    ...settings.lccd,
    startTimeoutMs: isUpgrade ? UPGRADE_TIMEOUT_MS : START_TIMEOUT_MS,
    stopTimeoutMs: STOP_TIMEOUT_MS,
    failed: error => services.fail(error),
    notNow: status => heldUp(status, home),
    isReady: async (name, pid) => {
      try {
        // An orphan of an earlier lccd may still answer here: its successor is ready when it answers itself.
        const isUp = (await askStatus(controlSocket(runDir, name))).pid === pid;
        if (isUp && name === KEEPER) keeper?.begin();
        return isUp;
      } catch {
        return false;
      }
    },
    answers,
  });
  services.told.addEventListener('abort', () => void supervisor.stop());
  const keeper = settings.store.url === '' ? undefined : watchKeeper(services, supervisor);
  await supervisor.start();
  const over = new AbortController();
  const order = orderOf(settings);
  const tell = order && tellBy(order, { clock, stop: over.signal });
  const alerts = tell && new Alerts({ home: dir, db: home.db, clock, log, tell });
  return {
    status: () => supervisor.status(),
    reload: () => supervisor.reload(),
    ...(keeper && { controls: { release: () => keeper.release() } }),
    async stop() {
      keeper?.close();
      alerts?.stop();
      over.abort();
      await supervisor.stop();
      lock.release();
    },
  };
}

/** Has children run as the keeper of the home says. */
function watchKeeper(services: Services, supervisor: Supervisor) {
  const { home, log } = services;
  let link: KeeperLink | undefined;
  let state: Lease['state'] | undefined;
  const changed = (lease: Lease) => {
    if (lease.state === state) return;
    state = lease.state;
    log.info(state === 'owner' ? 'this machine serves the LCC' : 'another machine serves the LCC');
    void supervisor.serve(state === 'owner');
  };
  return {
    /** The keeper listens: before that nobody misses it. */
    begin(): void {
      if (link !== undefined) return;
      link = keeperOf(services);
      link.watch(changed);
    },
    close: () => link?.close(),
    /** Hands the home over to another machine. */
    async release(): Promise<void> {
      if (state !== 'owner') throw new LccError('try.later', 'this machine does not serve the LCC');
      const socket = controlSocket(home.run, KEEPER);
      const { engine_away: away } = await askStatus(socket);
      if (away)
        throw new LccError(
          'try.later',
          `the engine does not answer: ${String(Object(away)['reason'])}; this machine keeps the home`,
        );
      await supervisor.retire();
      try {
        await tellDaemon(socket, 'release', RELEASE_MS);
      } catch (error) {
        void supervisor.serve(link?.lease?.state === 'owner');
        throw error;
      }
    },
  };
}

/** In starting order, as the kinds are. */
function childrenOf(services: Services, { bin, words, env, configFile }: LccdCall): ChildSpec[] {
  const { home, settings } = services;
  const unix = (file: string) => `unix:${join(home.run, file)}`;
  // The longest path below run/: a home that is too deep is refused here, with a message that says so.
  parseEndpoint(unix(`lccbot-${settings.bm.bots}.ctl.sock`));
  const common = [...(configFile === undefined ? [] : [`--config=${configFile}`]), ...words];
  const child = (command: string, args: string[], instance?: string): ChildSpec => ({
    name: instance === undefined ? command : `${command}-${instance}`,
    file: process.execPath,
    args: [...NODE_FLAGS, join(bin, command), ...args, ...common],
    env: childEnvironment(env, instance),
  });
  const isKept = settings.store.url !== '';
  return KINDS.flatMap(({ name, phase, isOfStandby, children }) =>
    children(services, unix).map((args, i, { length }) => ({
      ...child(name, args, length === 1 ? undefined : String(i + 1)),
      isBeside: BESIDE.includes(phase),
      isOfOwner: isKept && isOfStandby !== true,
    })),
  );
}

/**
 * systemd talks to lccd alone: a child that said READY or fed the watchdog would speak for all. Only lccd
 * gives free memory back at once: daemons that work need it again, and would be slower.
 */
function childEnvironment(env: NodeJS.ProcessEnv, instance: string | undefined): NodeJS.ProcessEnv {
  const {
    NOTIFY_SOCKET: _notify,
    WATCHDOG_USEC: _usec,
    WATCHDOG_PID: _pid,
    MALLOC_TRIM_THRESHOLD_: _threshold,
    ...rest
  } = env;
  return instance === undefined ? rest : { ...rest, LCC_INSTANCE: instance };
}

/** Reason why a child with this status is not started for now: without room no daemon opens a database. */
function heldUp(
  status: number | undefined,
  { dir, unsSpool }: Pick<Home, 'dir' | 'unsSpool'>,
): string | undefined {
  return status === EXIT.ioerr ? (roomlessness(dir) ?? roomlessness(unsSpool)) : undefined;
}
