/**
 * Connections to upper servers that come back by themselves: "any process that is restarted is found again".
 */
import type { Socket } from 'node:net';
import type { Settings } from '../config/settings/index.js';
import { backoffMs, doubledMs } from '../lib/backoff.js';
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
/** The same where another endpoint is next: what is away must not keep us from the one that is there. */
const OF_SEVERAL = { delay: { minMs: 50, maxMs: 500 }, connect: { minMs: 500, maxMs: 2000 } };
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
 * 5 s. Of several endpoints the next is tried each time, after half a second at most, and after the loss of a
 * good connection the first again. Logged at debug, except for the first connection to a server and the loss
 * of the last; of a server that closes at once these are logged once, until a connection lives.
 * @throws LccError `config` when a file of `[net]` cannot be read; later it may be missing for a while
 */
export function keepConnected(
  endpoint: Endpoint | readonly Endpoint[],
  context: ConnectContext,
  onConnect: (connection: Connection) => void,
): Peer {
  const { clock, log, servers, role } = context;
  const endpoints = [endpoint].flat();
  const all = endpoints.map(formatEndpoint).join(', ');
  const isOneOf = endpoints.length > 1;
  const server = servers.get(all) ?? { up: 0, missed: false, brief: false };
  servers.set(all, server);
  /** Number of the tries since a good connection. */
  let turn = 0;
  let to = all;
  const closedBy = (more: string) => `the ${role} at ${to} closed it${more}`;
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
      turn++;
      cancelRetry = clock.after(DELAY.maxMs, attempt);
    }
  };

  const open = () => {
    let openedAtMs: number | undefined;
    let cause = '';
    const begunMs = clock.monotonicMs();
    const next = endpoints[turn % endpoints.length];
    if (next === undefined) throw new LccError('bug', `no endpoint of the ${role}`);
    to = formatEndpoint(next);
    const current = dial(next, next.kind === 'tls' ? trustOf(context.net, context.certified) : {}, () => {
      current.setTimeout(0);
      current.setKeepAlive(true, KEEP_ALIVE_MS);
      connected = true;
      openedAtMs = clock.monotonicMs();
      log[server.up++ === 0 && !server.brief ? 'info' : 'debug']('connected', { to, role });
      if (!server.brief) server.missed = false;
      cancelGood = clock.after(GOOD_AFTER_MS, isGood);
      onConnect(describe(current));
    });
    socket = current;
    current.setTimeout(
      isOneOf ? doubledMs(OF_SEVERAL.connect, 1 + Math.floor(turn / endpoints.length)) : CONNECT_TIMEOUT_MS,
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
      turn = failures === 0 ? 0 : turn + 1;
      const waitMs = backoffMs(isOneOf ? OF_SEVERAL.delay : DELAY, failures + 1, Math.random());
      const delayMs = isOneOf
        ? Math.max(OF_SEVERAL.delay.minMs, waitMs - (clock.monotonicMs() - begunMs))
        : waitMs;
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
      if (alike >= TOLD_AFTER * endpoints.length && server.up === 0 && !server.missed) {
        server.missed = true;
        const what = isOpened ? 'connections are closed at once' : 'cannot connect';
        log.warn(`${what}, retrying`, {
          to: isOpened ? to : all,
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
