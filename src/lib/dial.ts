/** Connecting to an endpoint of any kind. */
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';
import type { Endpoint } from './endpoint.js';

/** Certificates that are shown and believed on a `tls:` connection, all PEM. */
export interface Trust {
  /** Trusted instead of those that Node comes with. */
  ca?: Buffer | string | undefined;
  /** Shown to a server that demands one. */
  cert?: Buffer;
  key?: Buffer;
  /** All of that, made before. */
  secureContext?: SecureContext;
  /** Agreed on with the same server before: certificates are not shown again. */
  session?: Buffer | undefined;
}

/**
 * @param trust for `tls:`
 * @param onReady called when it can be spoken on: with TLS after the handshake
 * @param over the connection below TLS, where it is there already
 */
export function dial(endpoint: Endpoint, trust: Trust, onReady: () => void, over?: Socket): Socket {
  if (endpoint.kind === 'unix') return connect({ path: endpoint.path }, onReady);
  const { kind, host, port } = endpoint;
  if (kind === 'tcp') return connect({ host, port, noDelay: true }, onReady);
  // A name only: a server is not told which address it was reached at (RFC 6066), and Node warns of it.
  const servername = isIP(host) === 0 ? { servername: host } : {};
  return connectTls({ host, port, ...servername, ...trust, ...(over && { socket: over }) }, onReady);
}

/**
 * The same, of a connection that can also be broken off, so that the other side knows that it was not the
 * end: Node resets none with TLS, but what is below it.
 */
export function dialToBreak(
  endpoint: Endpoint,
  trust: Trust,
  onReady: () => void,
): { socket: Socket; breakOff: () => void } {
  if (endpoint.kind === 'unix') {
    const socket = dial(endpoint, trust, onReady);
    return { socket, breakOff: () => void socket.destroy() };
  }
  const below = endpoint.kind === 'tls' ? dial({ ...endpoint, kind: 'tcp' }, {}, () => undefined) : undefined;
  const socket = dial(endpoint, trust, onReady, below);
  below?.on('error', error => void socket.destroy(error));
  const bottom = below ?? socket;
  // A reset would wait for a connection.
  return { socket, breakOff: () => void (bottom.connecting ? bottom.destroy() : bottom.resetAndDestroy()) };
}
