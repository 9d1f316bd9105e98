/** Connecting to an endpoint of any kind. */
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Endpoint } from './endpoint.js';

/** Certificates that are shown and believed on a `tls:` connection, all PEM. */
export interface Trust {
  /** Trusted instead of those that Node comes with. */
  ca?: Buffer | string | undefined;
  /** Shown to a server that demands one. */
  cert?: Buffer;
  key?: Buffer;
}

/**
 * @param trust for `tls:`
 * @param onReady called when it can be spoken on: with TLS after the handshake
 */
export function dial(endpoint: Endpoint, trust: Trust, onReady: () => void): Socket {
  if (endpoint.kind === 'unix') return connect({ path: endpoint.path }, onReady);
  const { kind, host, port } = endpoint;
  if (kind === 'tcp') return connect({ host, port, noDelay: true }, onReady);
  // A name only: a server is not told which address it was reached at (RFC 6066), and Node warns of it.
  const servername = isIP(host) === 0 ? { servername: host } : {};
  return connectTls({ host, port, ...servername, ...trust }, onReady);
}
