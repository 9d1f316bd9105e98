/**
 * The skeleton of every daemon: configuration, log, listeners, peers, readiness, signals, control socket, the
 * end. A daemon itself is a `DaemonSpec`: what to start with the services given, and what it says of itself.
 *
 * Environment: `LCC_PARENT_FD=N` names an inherited pipe; when its other end closes (the supervisor died,
 * however) the daemon stops as on SIGTERM. `LCC_INSTANCE=TEXT` tells apart several daemons of one kind on one
 * machine: `lccbot` logs and listens for controls as `lccbot-TEXT`.
 */
import { lstatSync, readlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { loadConfig, type Config, type ConfigSources } from '../config/load.js';
import { systemClock } from '../lib/clock.js';
import { keepMemoryOutOfCores } from '../lib/core-dumps.js';
import { makeDirectory } from '../lib/durable.js';
import { EXIT, exitStatusOf, messageOf, type ExitStatus } from '../lib/errors.js';
import { createLog, type Log } from '../lib/log.js';
import { CONTROL_PLACES, serveControl } from './control.js';
import { boundReadAhead, listenOn } from './listeners.js';
import type { Certified } from './machines.js';
import type { Kept } from './kept.js';
import { logLevelOf } from './log-level.js';
import { openKept } from './open-kept.js';
import { keepConnected, type ConnectContext } from './reconnect.js';
import { bounded, boundOf, placesOf, type Places } from './places.js';
import type { Bound, Control, DaemonSpec, Running, Services } from './types.js';
import { Socket } from 'node:net';
import { spawn } from 'node:child_process';

/** Time a daemon has to finish what it began once told to stop. */
const STOP_TIMEOUT_MS = 10_000;

interface Closing {
  close(): Promise<void>;
}

export interface DaemonOptions {
  /** Opens services beside the daemon once it has started, until it stops: its metrics. */
  beside?: (services: Services, running: Running, instance: string) => Promise<Closing | undefined>;
  env: NodeJS.ProcessEnv;
  configFile?: string | undefined;
  overrides?: ConfigSources['overrides'];
  quiet: boolean;
  verbose: boolean;
}

/** Runs a daemon until it is told to stop or fails; resolves with the exit status. */
export async function runDaemon(spec: DaemonSpec, options: DaemonOptions): Promise<ExitStatus> {
  // Most have passwords at times: of CPs, of sites, of rails.
  keepMemoryOutOfCores();
  const config = loadConfig({
    env: options.env,
    file: options.configFile,
    overrides: options.overrides ?? {},
  });
  const instance = options.env['LCC_INSTANCE'] ?? spec.instance ?? '';
  const name = instance === '' ? spec.name : `${spec.name}-${instance}`;
  const log = openLog(name, options);
  // Settings that lccd gives its children are in its own log.
  if (options.env['LCC_PARENT_FD'] === undefined)
    for (const { key, value } of config.replaced)
      log.warn('an option replaces a setting', {
        setting: key,
        of: config.file,
        instead_of: String(value),
        now: String(config.get(key)),
      });
  makeDirectory(config.home.dir, 0o750);
  // Who may read the cache is of the group of its files, and opens no socket.
  makeDirectory(config.home.run, 0o700);
  boundReadAhead();

  const reloads = new Set<() => void>();
  const notifier = createNotifier(options.env, log);
  const ending = whenTold(options.env, log, reloads);
  const named = (error: unknown) => (spec.failed === undefined ? error : spec.failed(error, config));
  const fail = (thrown: unknown) => {
    const error = named(thrown);
    log.error('fatal error, exiting', {
      error: messageOf(error),
      stack: options.env['LCC_DEBUG'] === '1' ? stackOf(error) : undefined,
    });
    process.exit(exitStatusOf(error));
  };
  // Warnings of Node would be text among lines of JSON.
  process.removeAllListeners('warning');
  process.on('warning', warning =>
    log.warn('Node warning', { warning: warning.name, reason: warning.message }),
  );
  process.on('uncaughtException', fail);
  process.on('unhandledRejection', fail);

  const told = new AbortController();
  void ending.then(reason => {
    notifier.stopping();
    log.info('stopping', { reason });
    told.abort();
  });
  /** Ends of the certificates that it shows, by file. */
  const ends = new Map<string, number>();
  const certified: Certified = (path, untilMs) => void ends.set(path, untilMs);
  const services = servicesOf(config, { log, reloads, certified }, fail, told.signal);
  let running: Running | undefined;
  let beside: Closing | undefined;
  let control: Closing;
  try {
    // Files read while the daemon starts may have been read before it was told to read them again.
    let isToldEarly = false;
    const early = () => void (isToldEarly = true);
    reloads.add(early);
    const started = await spec.start(services, config);
    running = started;
    reloads.delete(early);
    if (started.reload !== undefined) reloads.add(() => started.reload?.());
    if (isToldEarly) started.reload?.();
    beside = await options.beside?.(services, started, instance);
    control = await openControl(name, services, started, () =>
      ends.size === 0 ? null : Math.min(...ends.values()),
    );
  } catch (thrown) {
    const error = named(thrown);
    log.error('cannot start', {
      error: messageOf(error),
      stack: options.env['LCC_DEBUG'] === '1' ? stackOf(error) : undefined,
    });
    if (running !== undefined) await stop(running, log, named);
    return endProcess(exitStatusOf(error));
  }
  if (!told.signal.aborted) {
    log.info('ready', { process_id: process.pid });
    notifier.ready();
  }

  const status = await firstOf(ending, running, log);
  const failure = await stop(running, log, named);
  await withTimeout(Promise.all([control.close(), beside?.close()]));
  return endProcess(failure ?? status);
}

/** Stops all that runs, whatever comes of it: the process ends. @returns the status to end with where that
 * fails */
async function stop(
  running: Running,
  log: Log,
  named: (error: unknown) => unknown,
): Promise<ExitStatus | undefined> {
  const stopTimeoutMs = running.stopTimeoutMs ?? STOP_TIMEOUT_MS;
  try {
    const isStopped = await withTimeout(running.stop(), stopTimeoutMs);
    if (!isStopped) log.warn('stop timed out, exiting', { after_ms: stopTimeoutMs });
    return undefined;
  } catch (thrown) {
    const error = named(thrown);
    log.error('cannot stop in order, exiting', { error: messageOf(error) });
    return exitStatusOf(error);
  }
}

/** The log on stderr. */
function openLog(name: string, options: DaemonOptions): Log {
  return createLog({ name, level: logLevelOf(options), human: process.stderr.isTTY });
}

/** The status to end with: that of a daemon that has finished, or 0 of one that was told to stop. */
function firstOf(ending: Promise<string>, running: Running, log: Log): Promise<ExitStatus> {
  const { finished } = running;
  const told = ending.then((): ExitStatus => EXIT.ok);
  if (finished === undefined) return told;
  const ended = finished.then(status => {
    log.info('finished', { exit_status: status, ...running.summary?.() });
    return status;
  });
  return Promise.race([told, ended]);
}

/** Idle sockets and timers must not keep a stopped daemon alive. */
function endProcess(status: ExitStatus): ExitStatus {
  setImmediate(() => process.exit(status));
  return status;
}

function servicesOf(
  { home, settings }: Config,
  { log, reloads, certified }: { log: Log; reloads: Set<() => void>; certified: Certified },
  fail: (error: unknown) => void,
  told: AbortSignal,
): Services {
  const servers: ConnectContext['servers'] = new Map();
  const allPlaces = new Map<Bound, Places>();
  const placesFor = (bound: Bound): Places => {
    const places = allPlaces.get(bound) ?? placesOf(bound, { settings, clock: systemClock, log });
    allPlaces.set(bound, places);
    return places;
  };
  const onReload = (action: () => void) => {
    reloads.add(action);
    return () => void reloads.delete(action);
  };
  let kept: Kept | undefined;
  const services: Services = {
    kept: () => (kept ??= openKept(services)),
    home,
    settings,
    log,
    clock: systemClock,
    listen: (endpoint, onConnection, entrance) => {
      const bound = boundOf(entrance);
      const accept = bounded(onConnection, bound && placesFor(bound), bound?.evict);
      return listenOn(
        endpoint,
        { net: settings.net, log, clock: systemClock, onReload, certified },
        accept,
        entrance,
      );
    },
    connect: (endpoint, onConnect, role) =>
      keepConnected(
        endpoint,
        { net: settings.net, clock: systemClock, log, servers, role, certified },
        onConnect,
      ),
    answerAs: (name, running) => openControl(name, services, running, () => null),
    fail,
    told,
  };
  return services;
}

function openControl(
  name: string,
  services: Services,
  running: Pick<Running, 'status' | 'controls'>,
  tlsUntilMs: () => number | null,
): Promise<Closing> {
  const startedAtMs = services.clock.nowMs();
  const controls: Record<string, Control> = {
    ...running.controls,
    status: () => ({
      daemon: name,
      pid: process.pid,
      up_s: Math.round((services.clock.nowMs() - startedAtMs) / 1000),
      rss_bytes: process.memoryUsage.rss(),
      tls_until_ms: tlsUntilMs(),
      ...running.status(),
    }),
  };
  const path = whereLinked(join(services.home.run, `${name}.ctl.sock`));
  return services.listen(
    { kind: 'unix', path },
    connection => void serveControl(connection, controls, services.clock),
    CONTROL_PLACES,
  );
}

/** Where a symbolic link leads to, whether or not that is there yet: a socket cannot be made through one. */
function whereLinked(path: string): string {
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  return isLink ? resolve(dirname(path), readlinkSync(path)) : path;
}

/** True if the promise settled in time; its failure is the caller's to have logged. */
async function withTimeout(work: Promise<unknown>, limitMs = STOP_TIMEOUT_MS): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>(resolve => (timer = setTimeout(() => resolve(false), limitMs)));
  const done = await Promise.race([work.then(() => true), late]);
  clearTimeout(timer);
  return done;
}

function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? error.stack : undefined;
}

/**
 * Resolves with the reason when a signal, or the end of the parent, lccd, tells this process to stop. SIGHUP
 * has it read files again.
 */
function whenTold(env: NodeJS.ProcessEnv, log: Log, reloads: ReadonlySet<() => void>): Promise<string> {
  return new Promise(resolve => {
    process.on('SIGTERM', () => resolve('SIGTERM'));
    process.on('SIGINT', () => resolve('SIGINT'));
    process.on('SIGHUP', () => {
      if (reloads.size === 0) log.debug('SIGHUP ignored: nothing to reload');
      for (const reload of reloads) reload();
    });
    const parentFd = Number(env['LCC_PARENT_FD'] ?? '');
    if (Number.isInteger(parentFd) && parentFd > 2) {
      const pipe = new Socket({ fd: parentFd, readable: true, writable: false });
      pipe.on('error', () => undefined);
      pipe.on('close', () => resolve('the parent ended'));
      pipe.resume();
      pipe.unref();
    }
  });
}

/**
 * sd_notify(3): readiness, the watchdog, stopping. Node cannot send datagrams on Unix sockets, so systemd's
 * own systemd-notify(1) does; units need NotifyAccess=all for it (examples/systemd).
 */
interface Notifier {
  ready(): void;
  stopping(): void;
}

/** Does nothing without `$NOTIFY_SOCKET`. With `$WATCHDOG_USEC` it reports life at half that interval. */
function createNotifier(env: NodeJS.ProcessEnv, log: Log): Notifier {
  if (!env['NOTIFY_SOCKET']) return { ready() {}, stopping() {} };
  let warned = false;
  const send = (state: string) => {
    const child = spawn('systemd-notify', [`--pid=${process.pid}`, state], { stdio: 'ignore' });
    child.on('error', error => {
      if (!warned) log.warn('cannot notify systemd', { error: error.message });
      warned = true;
    });
  };
  return {
    ready() {
      send('READY=1');
      const watchdogMs = Number(env['WATCHDOG_USEC'] ?? 0) / 1000;
      // A blocked event loop must miss the beat: that is what the watchdog is for.
      if (watchdogMs > 0) setInterval(() => send('WATCHDOG=1'), watchdogMs / 2).unref();
    },
    stopping: () => send('STOPPING=1'),
  };
}
