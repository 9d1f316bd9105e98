/**
 * An HTTP server with limits, on any of our endpoints (tcp, tls, unix), for any `RequestListener` of
 * node:http, that of a framework included. Each connection carries one request. Limits, from connecting on:
 * time of the headers, time of the whole, bytes of headers and body, and how many connections there are; a
 * client that passes one gets an answer that names its setting, as far as an answer can still be given, and
 * is cut off.
 */
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { TurnedAway } from '../daemon/turned-away.js';
import type { Bound, Connection, Place, Services } from '../daemon/types.js';
import type { Clock } from '../lib/clock.js';
import type { Endpoint } from '../lib/endpoint.js';
import { errnoOf, messageOf } from '../lib/errors.js';
import { line, plainAnswer, prepare, send } from './answer.js';
import { formatAmount } from '../config/amounts.js';
import { WEB_PLACES, type WebLimits } from './limits.js';

/** Framing of a body that comes in chunks, and line ends before the request: their bytes at most, beside the
 * limits. */
const AROUND_BYTES = 4096;
/** For which a client that is answered goes on sending. */
const LINGER_MS = 5000;

export interface WebServer {
  /** As bound. */
  endpoints: readonly Endpoint[];
  /** Listens no more, lets go of connections that have not asked, and waits for the answers of the others. */
  close(): Promise<void>;
}

/**
 * @param bound places of its own, where the addresses of its clients are those of proxies
 * @throws as `Services.listen`
 */
export async function serveWeb(
  services: Pick<Services, 'listen' | 'clock' | 'log'>,
  endpoints: readonly Endpoint[],
  listener: RequestListener,
  limits: WebLimits,
  bound: Bound = WEB_PLACES,
): Promise<WebServer> {
  const clients = new Clients(services.clock, limits);
  const http = createServer({ maxHeaderSize: limits.maxHeaderBytes }, (request, response) => {
    // Bytes of a client after its first request are no request.
    if (!clients.asks(request)) return;
    prepare(response);
    response.once('prefinish', () => linger(request, services.clock));
    // RFC 9112, 3.2: a proxy may have looked at another one than we would.
    if (request.rawHeaders.filter((name, i) => i % 2 === 0 && /^host$/i.test(name)).length > 1)
      return send(request, response, line(400, 'there is more than one Host header'));
    if (Buffer.byteLength(request.url ?? '') > limits.maxUrlBytes)
      return send(
        request,
        response,
        line(414, `the address is longer than ${formatAmount(limits.maxUrlBytes, 'bytes')}`),
      );
    try {
      listener(request, response);
    } catch (error) {
      services.log.error('request failed', { error: messageOf(error) });
      response.destroy();
    }
  });
  http.on('clientError', (error, socket) => clients.misspoke(error, socket as Socket));
  const listeners = await Promise.all(
    endpoints.map(endpoint =>
      services.listen(endpoint, (connection, place) => clients.admit(connection, place, http), bound),
    ),
  );
  return {
    endpoints: listeners.map(({ endpoint }) => endpoint),
    async close() {
      for (const each of listeners) void each.close();
      await clients.close();
    },
  };
}

const PEERS = new WeakMap<Socket, { connection: Connection; untime: () => void }>();

/** The connection that a request came over. */
export function connectionOf({ socket }: Pick<IncomingMessage, 'socket'>): Connection {
  return PEERS.get(socket)?.connection ?? { socket, peer: 'unknown', address: '' };
}

/** Takes the limit of its whole time off a request: what answers it has limits of its own. */
export function untimed({ socket }: Pick<IncomingMessage, 'socket'>): void {
  PEERS.get(socket)?.untime();
}

interface Client {
  place: Place | undefined;
  hasAsked: boolean;
}

/** The connections of a server, each from its beginning to its end. */
class Clients {
  readonly #clock: Clock;
  readonly #limits: WebLimits;
  readonly #turnedAway: TurnedAway;
  readonly #open = new Map<Socket, Client>();
  #closed: (() => void) | undefined;

  constructor(clock: Clock, limits: WebLimits) {
    this.#clock = clock;
    this.#limits = limits;
    this.#turnedAway = new TurnedAway({ clock });
  }

  admit(connection: Connection, place: Place | undefined, http: Server): void {
    const { socket } = connection;
    const client = { place, hasAsked: false };
    this.#open.set(socket, client);
    const cancel = this.#limitTime(connection, client);
    PEERS.set(socket, { connection, untime: cancel });
    socket.once('close', () => {
      cancel();
      this.#open.delete(socket);
      if (this.#open.size === 0) this.#closed?.();
    });
    http.emit('connection', socket);
    // As much again is read of a client that is answered before all of its request was.
    const most = 2 * (this.#limits.maxHeaderBytes + this.#limits.maxBodyBytes + AROUND_BYTES);
    let bytes = 0;
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > most) socket.destroy();
    });
  }

  /** First of the headers, then of the whole; one timer at a time. @returns ends that */
  #limitTime(connection: Connection, client: Client): () => void {
    const { headersTimeoutMs: headersMs, requestTimeoutMs: wholeMs } = this.#limits;
    const whole = (delayMs: number) => this.#clock.after(delayMs, () => this.#late(connection, wholeMs));
    if (headersMs >= wholeMs) return whole(wholeMs);
    let cancel = this.#clock.after(headersMs, () => {
      if (client.hasAsked) cancel = whole(wholeMs - headersMs);
      else this.#late(connection, headersMs);
    });
    return () => cancel();
  }

  /** Notes a request. @returns whether it is the first of its connection, and that still has its place */
  asks(request: IncomingMessage): boolean {
    const { socket, headers } = request;
    const client = this.#open.get(socket);
    if (client === undefined || client.hasAsked) return false;
    client.hasAsked = true;
    const { place } = client;
    // A body may come as slowly as headers do.
    const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
    if (!hasBody) return place?.known() ?? true;
    request.once('end', () => void place?.known());
    return !socket.destroyed;
  }

  /** The client has sent no request, or more than one may be: it learns that, if it has got nothing yet. */
  misspoke(error: Error, socket: Socket): void {
    const client = this.#open.get(socket);
    if (client === undefined || socket.bytesWritten > 0 || !socket.writable) return void socket.destroy();
    const answer =
      errnoOf(error) === 'HPE_HEADER_OVERFLOW'
        ? plainAnswer(
            431,
            `the headers are longer than ${formatAmount(this.#limits.maxHeaderBytes, 'bytes')}`,
          )
        : plainAnswer(400, 'this is no HTTP request');
    if (!client.hasAsked) return this.#turnedAway.turnAway(connectionOf({ socket }), answer);
    // The body of the request is broken.
    socket.write(answer);
    socket.destroySoon();
  }

  async close(): Promise<void> {
    for (const [socket, { hasAsked }] of this.#open) if (!hasAsked) socket.destroy();
    if (this.#open.size > 0) await new Promise<void>(resolve => (this.#closed = resolve));
  }

  /** One that has got nothing yet learns why it gets no answer. */
  #late(connection: Connection, afterMs: number): void {
    if (connection.socket.bytesWritten > 0) return void connection.socket.destroy();
    this.#turnedAway.turnAway(
      connection,
      plainAnswer(408, `the request took longer than ${formatAmount(afterMs, 'ms')}`),
    );
  }
}

/** An answer that is there before all of its request was read is heard: a connection that is closed while
 * more comes would be reset. Called before the HTTP server closes it. */
function linger(request: IncomingMessage, clock: Clock): void {
  const { socket } = request;
  if (request.complete || socket.destroyed) return;
  const close = socket.destroySoon.bind(socket);
  socket.destroySoon = () => {
    socket.destroySoon = close;
    socket.end();
    request.once('end', close).resume();
    socket.once('close', clock.after(LINGER_MS, close));
  };
}
