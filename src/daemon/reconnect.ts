/**
 * Connections to upper servers that come back by themselves: "any process that is restarted is found again".
 */
import type { Socket } from 'node:net';
import type { Settings } from '../config/settings/index.js';
import { backoffMs } from '../lib/backoff.js';
import type { Clock } from '../lib/clock.js';
import { dial } from '../lib/dial.js';
import { formatEndpoint, type Endpoint } from '../lib/endpoint.js';
import { LccError, messageOf } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import { describe } from './connection.js';
import { KEEP_ALIVE_MS } from './listeners.js';
import { trustOf, type Certified } from './machines.js';
import type { Connection, Peer } from './types.js';

const DELAY = { minMs: 50, maxMs: 5000 };
/** A connection that lived this long counts as good: the next loss starts again with the first delay. */
const GOOD_AFTER_MS = 2000;
const CONNECT_TIMEOUT_MS = 10_000;
/** Tries in vain of which the log hears. */
const TOLD_AFTER = 5;

export interface ConnectContext {
  net: Settings['net'];
  clock: Clock;
  log: Log;
  /** By endpoint, shared by all connections of a daemon. */
  servers: Map<string, Server>;
  /** Role of the other side for this daemon, for the log. */
  role: string;
  certified?: Certified;
}

/**
 * State in the log of a server to which there may be many connections: it comes, goes and stays away as one.
 */
interface Server {
  /** Connections that are up. */
  up: number;
  /**
   * True if it was logged that it cannot be reached, or closes at once, since it last was as it should be.
   */
  missed: boolean;
  /** True if its last connection was closed soon, and none has lived since. */
  brief: boolean;
}

/**
 * Keeps one connection to `endpoint` alive until closed: doubling delays with jitter between tries, 50 ms to
 * 5 s. Logged at debug, except for the first connection to a server and the loss of the last; of a server
 * that closes at once these are logged once, until a connection lives.
 * @throws LccError `config` when a file of `[net]` cannot be read; later it may be missing for a while
 */
export function keepConnected(
  endpoint: Endpoint,
  context: ConnectContext,
  onConnect: (connection: Connection) => void,
): Peer {
  const { clock, log, servers, role } = context;
  const to = formatEndpoint(endpoint);
  const closedBy = (more: string) => `the ${role} at ${to} closed it${more}`;
  const server = servers.get(to) ?? { up: 0, missed: false, brief: false };
  servers.set(to, server);
  let closed = false;
  let connected = false;
  let failures = 0;
  /** Number of the last attempts that were of one kind: not connected, or closed soon. */
  let alike = 0;
  let wasOpened = false;
  let socket: Socket | undefined;
  let cancelRetry: (() => void) | undefined;
  let cancelGood: (() => void) | undefined;

  const isGood = () => {
    if (server.brief) log.info('connected', { to, role });
    server.brief = false;
    server.missed = false;
  };

  const attempt = (): void => {
    try {
      open();
    } catch (error) {
      if (socket === undefined || !(error instanceof LccError)) throw error;
      log.error('cannot connect, retrying', { to, role, cause: error.message });
      cancelRetry = clock.after(DELAY.maxMs, attempt);
    }
  };

  const open = () => {
    let openedAtMs: number | undefined;
    let cause = '';
    const current = dial(
      endpoint,
      endpoint.kind === 'tls' ? trustOf(context.net, context.certified) : {},
      () => {
        current.setTimeout(0);
        current.setKeepAlive(true, KEEP_ALIVE_MS);
        connected = true;
        openedAtMs = clock.monotonicMs();
        log[server.up++ === 0 && !server.brief ? 'info' : 'debug']('connected', { to, role });
        if (!server.brief) server.missed = false;
        cancelGood = clock.after(GOOD_AFTER_MS, isGood);
        onConnect(describe(current));
      },
    );
    socket = current;
    current.setTimeout(
      CONNECT_TIMEOUT_MS,
      () => void (connected || current.destroy(new Error('connect timeout'))),
    );
    current.on('error', error => (cause = messageOf(error)));
    current.on('close', () => {
      connected = false;
      if (openedAtMs !== undefined) server.up--;
      if (closed) return;
      cancelGood?.();
      const lived = openedAtMs === undefined ? 0 : clock.monotonicMs() - openedAtMs;
      const isOpened = openedAtMs !== undefined;
      failures = lived >= GOOD_AFTER_MS ? 0 : failures + 1;
      alike = failures === 0 ? 0 : isOpened === wasOpened ? alike + 1 : 1;
      wasOpened = isOpened;
      const delayMs = backoffMs(DELAY, failures + 1, Math.random());
      // A server that ends closes its connections, in good order or because it was killed: what matters is
      // whether it comes back.
      if (isOpened) {
        const isNews = server.up === 0 && !server.brief;
        log[!isNews ? 'debug' : cause === '' ? 'info' : 'warn']('connection lost', {
          to,
          role,
          cause: cause === '' ? closedBy('; this side connects again by itself') : cause,
        });
        server.brief = server.up === 0 && lived < GOOD_AFTER_MS;
      }
      if (alike >= TOLD_AFTER && server.up === 0 && !server.missed) {
        server.missed = true;
        const what = isOpened ? 'connections are closed at once' : 'cannot connect';
        log.warn(`${what}, retrying`, {
          to,
          role,
          cause: cause === '' ? closedBy(': its log says why') : cause,
        });
      }
      cancelRetry = clock.after(delayMs, attempt);
    });
  };
  attempt();
  return {
    get connected() {
      return connected;
    },
    close() {
      closed = true;
      cancelRetry?.();
      cancelGood?.();
      socket?.destroy();
    },
  };
}
