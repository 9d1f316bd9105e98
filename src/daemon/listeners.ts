/** Listening sockets of every kind, handing over connections that are ready to be spoken on. */
import { chmodSync, lstatSync, unlinkSync } from 'node:fs';
import { connect as netConnect, createServer, type Server, type Socket } from 'node:net';
import { setDefaultHighWaterMark } from 'node:stream';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:tls';
import type { Settings } from '../config/settings/index.js';
import { readIdentity, type Identity } from '../lib/certificates.js';
import type { Clock } from '../lib/clock.js';
import type { Trust } from '../lib/dial.js';
import { formatEndpoint, type Endpoint } from '../lib/endpoint.js';
import { errnoOf, LccError, messageOf } from '../lib/errors.js';
import { READ_AHEAD_BYTES } from '../lib/fair-share.js';
import type { Log } from '../lib/log.js';
import { isLoopback } from '../lib/loopback.js';
import { openFilesLimit, placesAtDoor } from '../lib/open-files.js';
import { inUse } from '../lib/port-holder.js';
import { describe } from './connection.js';
import { knownMachines, mayBeStrangers, peerIdentity, type Certified } from './machines.js';
import type { Connection, Entrance, Listener } from './types.js';

/** Time a TLS client has for its handshake; the login limits of a stage begin after it. */
const HANDSHAKE_TIMEOUT_MS = 10_000;
/** Silence after which the kernel asks whether the peer is still there, ten times, a second apart: a link may
 * be cut. */
export const KEEP_ALIVE_MS = 15_000;

/**
 * Bounds the bytes that each connection of this process reads ahead, on every Node the same: the bounds of
 * strangers and the memory of many connections rest on it, and Node 22 reads four times as much. A TLS server
 * takes no such option.
 */
export function boundReadAhead(): void {
  setDefaultHighWaterMark(false, READ_AHEAD_BYTES);
}

interface ListenContext {
  net: Settings['net'];
  log: Log;
  clock: Clock;
  /** Called on SIGHUP: certificates are read again without dropping a connection. @returns ends that */
  onReload(action: () => void): () => void;
  certified?: Certified;
}

/**
 * Listens on an endpoint.
 * @throws LccError `config` for plain text beyond loopback that was not asked for, TLS without a
 *   certificate, or machines from beyond loopback that need not show who they are; `peer.unavailable` when
 *   the address is taken
 */
export async function listenOn(
  endpoint: Endpoint,
  context: ListenContext,
  onConnection: (connection: Connection) => void,
  entrance?: Entrance,
): Promise<Listener> {
  if (entrance?.machines === true && mayBeStrangers(endpoint, context.net))
    context.log.warn('listening for machines without asking who they are', {
      endpoint: formatEndpoint(endpoint),
    });
  refusePlainOutside(endpoint, context);
  if (endpoint.kind === 'unix') await removeStaleSocket(endpoint.path);
  const accept = (socket: Socket) => {
    // Errors also arrive as 'close'; without a listener they would end the process.
    socket.on('error', () => undefined);
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    onConnection(describe(socket));
  };
  const peers = entrance?.machines === true && context.net.peerCa !== '' ? entrance : undefined;
  const server = endpoint.kind === 'tls' ? tlsServer(context, accept, peers) : createServer(accept);
  await listening(server, endpoint);
  if (endpoint.kind === 'unix') chmodSync(endpoint.path, entrance?.mode ?? 0o660);
  server.on('error', error => context.log.error('listener failed', { error: messageOf(error) }));
  return {
    endpoint: boundEndpoint(endpoint, server),
    close: () => new Promise(resolve => void server.close(() => resolve())),
  };
}

function refusePlainOutside(endpoint: Endpoint, context: ListenContext): void {
  if (endpoint.kind !== 'tcp' || isLoopback(endpoint.host)) return;
  const where = formatEndpoint(endpoint);
  if (!context.net.allowPlain) {
    throw new LccError(
      'config',
      `${where}: plain text beyond loopback; use tls:${where}, or set net.allow_plain = true`,
    );
  }
  context.log.warn('listening without TLS beyond loopback', { endpoint: where });
}

/** A socket file of a dead process is in the way of its successor; one that answers belongs to a running
 * process. */
async function removeStaleSocket(path: string): Promise<void> {
  const error = await new Promise<unknown>(resolve => {
    const probe = netConnect(path, () => {
      probe.destroy();
      resolve(undefined);
    });
    probe.on('error', resolve);
  });
  const code = errnoOf(error);
  if (code === 'ENOENT') return;
  // A process with a full queue of connections answers later.
  if (error === undefined || code === 'EAGAIN') {
    throw new LccError(
      'peer.unavailable',
      `unix:${path}: in use by a running daemon; stop that one, or give this one its own LCC_HOME (a robot: --name)`,
    );
  }
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket() === false)
    throw new LccError('peer.unavailable', `unix:${path}: exists and is not a socket; choose another path`);
  if (code !== 'ECONNREFUSED')
    throw new LccError('peer.unavailable', `unix:${path}: ${messageOf(error)}`, { cause: error });
  unlinkSync(path);
}

/** @param peers where machines of the LCC alone may speak */
function tlsServer(
  context: ListenContext,
  accept: (socket: Socket) => void,
  peers: Entrance | undefined,
): TlsServer {
  const { log, clock } = context;
  const identity = () => (peers === undefined ? readCertificate(context) : readPeerCertificate(context));
  const known = peers && knownMachines(peers, { log, clock }, accept);
  const server = createTlsServer(
    {
      ...identity(),
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      // Node would hang up without a word on those that are refused.
      ...(known && { requestCert: true, rejectUnauthorized: false }),
    },
    known ?? accept,
  );
  boundHandshakes(server);
  server.on('tlsClientError', (error, socket) => {
    context.log.debug('TLS handshake failed', { error: messageOf(error), peer: socket.remoteAddress ?? '' });
    socket.destroy();
  });
  const forget = context.onReload(() => {
    try {
      server.setSecureContext(identity());
      context.log.info('TLS certificate reloaded');
    } catch (error) {
      context.log.error('TLS certificate not replaced', { error: messageOf(error) });
    }
  });
  server.once('close', forget);
  return server;
}

/**
 * Connections that have not spoken TLS yet are nobody's, and count nowhere: when there are too many, the one
 * that has waited longest goes, so that a crowd of them takes neither all files nor the places of those that
 * do speak.
 */
function boundHandshakes(server: TlsServer): void {
  const most = placesAtDoor(openFilesLimit());
  const nameOf = (socket: Socket) => `${socket.remoteAddress} ${socket.remotePort}`;
  /** In the order of their arrival. */
  const begun = new Map<string, Socket>();
  server.on('connection', socket => {
    const name = nameOf(socket);
    // A name used again does not inherit its place in the line.
    begun.delete(name);
    begun.set(name, socket);
    socket.once('close', () => void (begun.get(name) === socket && begun.delete(name)));
    const [oldest] = begun.values();
    if (begun.size > most) oldest?.destroy();
  });
  server.on('secureConnection', socket => void begun.delete(nameOf(socket)));
}

function readCertificate(context: ListenContext): Trust {
  const { tlsCert: certPath, tlsKey: keyPath } = context.net;
  if (certPath === '' || keyPath === '') {
    throw new LccError('config', 'a tls: endpoint needs net.tls_cert and net.tls_key in lcc.toml');
  }
  return noteEnd(context, readIdentity(certPath, keyPath));
}

function readPeerCertificate(context: ListenContext): Trust {
  const { identity, ca } = peerIdentity(context.net);
  return { ca, ...noteEnd(context, identity) };
}

function noteEnd({ log, certified }: ListenContext, { cert, key, path, validToMs }: Identity): Trust {
  certified?.(path, validToMs);
  if (validToMs < Date.now())
    log.warn('TLS certificate expired; replace it', {
      file: path,
      until: new Date(validToMs).toISOString(),
    });
  return { cert, key };
}

function listening(server: Server, endpoint: Endpoint): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', error => {
      const isTaken = errnoOf(error) === 'EADDRINUSE' && endpoint.kind !== 'unix';
      const what = isTaken ? inUse(endpoint.port) : messageOf(error);
      reject(new LccError('peer.unavailable', `${formatEndpoint(endpoint)}: ${what}`, { cause: error }));
    });
    server.listen(
      endpoint.kind === 'unix'
        ? { path: endpoint.path }
        : { host: endpoint.host, port: endpoint.port, backlog: 4096 },
      () => {
        server.removeAllListeners('error');
        resolve();
      },
    );
  });
}

/** The endpoint as bound: with the port the system chose where 0 was asked for. */
function boundEndpoint(endpoint: Endpoint, server: Server): Endpoint {
  const address = server.address();
  if (endpoint.kind === 'unix' || address === null || typeof address === 'string') return endpoint;
  return { ...endpoint, port: address.port };
}
