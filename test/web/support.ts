/** What the skeleton gives an HTTP server: real listeners and places, with a clock that stands still. */
import { request, type IncomingMessage, type OutgoingHttpHeaders, type RequestListener } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { listenOn } from '../../src/daemon/listeners.js';
import { bounded, boundOf, placesOf, type Places } from '../../src/daemon/places.js';
import type { Bound, Services } from '../../src/daemon/types.js';
import { parseEndpoint, type Endpoint } from '../../src/lib/endpoint.js';
import { silentLog } from '../../src/lib/log.js';
import { WEB_LIMITS, type WebLimits } from '../../src/web/limits.js';
import { serveWeb, type WebServer } from '../../src/web/server.js';
import { ManualClock } from '../support/manual-clock.js';
import { configOf, type Overrides } from '../support/settings.js';

export interface Ground {
  clock: ManualClock;
  services: Pick<Services, 'listen' | 'clock' | 'log'>;
  limits: WebLimits;
  /** Errors that were logged. */
  errors: unknown[];
}

/** @param t whose end closes whatever is open */
export function ground(t: { after(action: () => void): void }, overrides: Overrides = {}): Ground {
  const config = configOf(overrides);
  const clock = new ManualClock();
  const errors: unknown[] = [];
  const log = { ...silentLog, error: (_event: string, fields?: object) => void errors.push(fields) };
  const places = new Map<Bound, Places>();
  const placesFor = (bound: Bound) => {
    const known = places.get(bound) ?? placesOf(bound, { settings: config.settings, clock, log });
    places.set(bound, known);
    return known;
  };
  const open = new Set<{ destroy(): unknown }>();
  t.after(() => {
    for (const each of open) each.destroy();
  });
  const services: Ground['services'] = {
    clock,
    log,
    async listen(endpoint, onConnection, gate) {
      const bound = boundOf(gate);
      const accept = bounded(onConnection, bound && placesFor(bound), bound?.evict);
      const listener = await listenOn(
        endpoint,
        { net: config.settings.net, log, clock, onReload: () => () => undefined },
        connection => {
          open.add(connection.socket);
          accept(connection);
        },
      );
      open.add({ destroy: () => void listener.close() });
      return listener;
    },
  };
  return { clock, services, limits: WEB_LIMITS, errors };
}

/** A server on loopback, unless endpoints are given. */
export function serve(
  { services, limits }: Ground,
  listener: RequestListener,
  endpoints = ['127.0.0.1:0'],
): Promise<WebServer> {
  return serveWeb(
    services,
    endpoints.map(endpoint => parseEndpoint(endpoint)),
    listener,
    limits,
  );
}

const targetOf = (endpoint: Endpoint) =>
  endpoint.kind === 'unix' ? { path: endpoint.path } : { host: endpoint.host, port: endpoint.port };

export interface Heard {
  status: number;
  headers: IncomingMessage['headers'];
  body: string;
}

/** One whole request. */
export function ask(
  { endpoints: [endpoint] }: Pick<WebServer, 'endpoints'>,
  path: string,
  {
    method = 'GET',
    headers = {},
    body,
  }: { method?: string; headers?: OutgoingHttpHeaders; body?: string } = {},
): Promise<Heard> {
  if (endpoint === undefined) throw new Error('no endpoint');
  const { path: socketPath, ...where } = { path: undefined, ...targetOf(endpoint) };
  return new Promise((resolve, reject) => {
    const asked = request(
      { ...where, ...(socketPath === undefined ? {} : { socketPath }), path, method, headers, agent: false },
      response =>
        void text(response).then(
          said => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: said }),
          reject,
        ),
    );
    asked.on('error', reject);
    asked.end(body);
  });
}

/** A connection that a test writes on by hand, and all that arrives on it until its end. */
export async function open(server: WebServer): Promise<{ socket: Socket; heard: Promise<string> }> {
  const [endpoint] = server.endpoints;
  if (endpoint === undefined) throw new Error('no endpoint');
  const socket = endpoint.kind === 'unix' ? connect(endpoint.path) : connect(endpoint.port, endpoint.host);
  socket.on('error', () => undefined);
  await new Promise<void>(resolve => void socket.once('connect', resolve));
  let said = '';
  socket.setEncoding('utf8').on('data', (more: string) => (said += more));
  const heard = new Promise<string>(resolve => void socket.once('close', () => resolve(said)));
  return { socket, heard };
}
