/** An HTTP/2 session over a connection of our own, one request at a time, with everything a peer may ask for bounded. */
import { connect, type ClientHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';

/** Content on its way that was not taken yet, and header fields of an answer, whatever their size. */
const WINDOW_BYTES = 256 * 1024;
const MAX_HEADER_FIELDS = 1000;
/** MB, of queued frames and header tables. */
const MAX_SESSION_MB = 4;

/** Whether the peer chose HTTP/2 during the TLS handshake. */
export function speaksHttp2(socket: Socket): boolean {
  // Only sockets of TLS have it; asking for their class would load all of TLS for a process that may never need it.
  const { alpnProtocol }: Partial<Pick<TLSSocket, 'alpnProtocol'>> = socket as Partial<TLSSocket>;
  return alpnProtocol === 'h2';
}

/** `gone` is called when the session ends, however it does. */
export function openSession(
  origin: string,
  stream: Duplex,
  maxHeaderBytes: number,
  gone: () => void,
): ClientHttp2Session {
  const session = connect(origin, {
    createConnection: () => stream,
    maxSessionMemory: MAX_SESSION_MB,
    maxHeaderListPairs: MAX_HEADER_FIELDS,
    maxReservedRemoteStreams: 0,
    settings: { enablePush: false, initialWindowSize: WINDOW_BYTES, maxHeaderListSize: maxHeaderBytes },
  });
  // Whatever it is, the stream that it concerns hears of it; an error event nobody listens to ends the process.
  stream.on('error', () => undefined);
  session.on('error', () => undefined).on('close', gone);
  session.once('connect', () => session.setLocalWindowSize(WINDOW_BYTES));
  session.unref();
  return session;
}
