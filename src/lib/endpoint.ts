/**
 * Endpoints as people write them: `host:port`, `:port`, `port`, `unix:/path`, `tls:host:port`, `[v6]:port`.
 */
import { LccError } from './errors.js';

export type Endpoint = { kind: 'unix'; path: string } | { kind: 'tcp' | 'tls'; host: string; port: number };

/** The port of lccd-uns when an endpoint names none. */
const DEFAULT_UNS_PORT = 9000;

/**
 * Reads an endpoint. Without a host it is loopback: nothing listens on the outside unless told to.
 * @throws LccError `usage` naming the text and the accepted forms
 */
export function parseEndpoint(text: string, defaultPort = DEFAULT_UNS_PORT): Endpoint {
  if (text.startsWith('unix:')) {
    const path = text.slice(5);
    // sockaddr_un holds 107 bytes and a terminator (unix(7)); a longer path fails later with an obscure
    // EINVAL.
    if (path === '' || Buffer.byteLength(path) > 107)
      throw malformed(text, 'a socket path has 1 to 107 bytes');
    return { kind: 'unix', path };
  }
  const kind = text.startsWith('tls:') ? 'tls' : 'tcp';
  const rest = kind === 'tls' ? text.slice(4) : text;
  if (rest.includes('/') && !rest.includes('://'))
    throw malformed(text, `that is a path; for a socket write unix:${rest}`);
  const found = /^(?:(?:\[([0-9A-Fa-f:.]+(?:%[\w.-]+)?)\]|([^:[\]\s]*)):)?(\d+)$/.exec(rest);
  if (found) {
    const port = Number(found[3]);
    if (port > 65535 || (found[3] ?? '').length > 5) throw malformed(text, 'a port is 0 to 65535');
    return { kind, host: found[1] ?? (found[2] || '127.0.0.1'), port };
  }
  const bare = /^\[([0-9A-Fa-f:.]+(?:%[\w.-]+)?)\]$|^([^:[\]\s/]+)$/.exec(rest);
  if (bare) return { kind, host: bare[1] ?? bare[2] ?? '127.0.0.1', port: defaultPort };
  throw malformed(text, 'write host:port, unix:/path or tls:host:port');
}

/** The endpoint as text that `parseEndpoint` reads back. */
export function formatEndpoint(endpoint: Endpoint): string {
  if (endpoint.kind === 'unix') return `unix:${endpoint.path}`;
  const host = endpoint.host.includes(':') ? `[${endpoint.host}]` : endpoint.host;
  return `${endpoint.kind === 'tls' ? 'tls:' : ''}${host}:${endpoint.port}`;
}

function malformed(text: string, why: string): LccError {
  return new LccError('usage', `endpoint "${text}": ${why}`);
}
