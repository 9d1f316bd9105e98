/**
 * Metrics of a daemon for Prometheus: `GET /metrics` answers its status as the table of its metrics has it, and those
 * of its process. Only numbers that `lccstat` shows as well; nothing by provider, so their count is bounded.
 */
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Counter, Gauge, Registry } from 'prom-client';
import type { Config } from '../config/load.js';
import { METRICS_PORTS, type MetricsKey } from '../config/keys.js';
import { SETTINGS, type SettingKey } from '../config/settings/index.js';
import type { Clock } from '../lib/clock.js';
import { LccError } from '../lib/errors.js';
import { parseEndpoint, type Endpoint } from '../lib/endpoint.js';
import type { Figures, Status } from './figures.js';
import type { Listener, Services } from './types.js';

/** One connection carries one request (limits.md, web). */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 20_000;
const MAX_CONNECTIONS = 200;
/** Of a request, and whatever is around it. */
const MAX_REQUEST_BYTES = 32 * 1024;
const MAX_PORT = 65_535;

/**
 * Where a daemon listens. Robots of one lccd share the setting: the second one gets the next port.
 * @throws LccError `usage` when it is malformed, `config` when no port is left
 */
export function metricsEndpoint(text: string, instance: string): Endpoint {
  const endpoint = parseEndpoint(text);
  const ahead = /^\d{1,4}$/.test(instance) ? Number(instance) - 1 : 0;
  if (endpoint.kind === 'unix' || endpoint.port === 0 || ahead <= 0) return endpoint;
  const port = endpoint.port + ahead;
  if (port > MAX_PORT)
    throw new LccError('config', `metrics endpoint "${text}": no port is left for robot ${ahead + 1}`);
  return { ...endpoint, port };
}

const LISTENS = (Object.keys(SETTINGS) as SettingKey[]).filter((key): key is MetricsKey =>
  /[._]metrics_listen$/.test(key),
);
const ANY_HOST = new Set(['0.0.0.0', '::']);

/** Other settings by which another daemon has that endpoint for its metrics. */
export function alsoNamedBy(endpoint: Endpoint, own: SettingKey, config: Pick<Config, 'get'>): SettingKey[] {
  if (endpoint.kind === 'unix') return [];
  return LISTENS.filter(key => {
    const text = key === own ? '' : config.get(key);
    if (text === '') return false;
    const other = parseEndpoint(text);
    if (other.kind === 'unix') return false;
    const ahead = endpoint.port - other.port;
    const hosts = [endpoint.host, other.host];
    return (
      ahead >= 0 &&
      ahead < portsOf(key, config) &&
      (endpoint.host === other.host || hosts.some(host => ANY_HOST.has(host)))
    );
  });
}

/** How many ports in a row a setting stands for. */
function portsOf(key: MetricsKey, config: Pick<Config, 'get'>): number {
  const ports = METRICS_PORTS[key];
  return ports === undefined ? 1 : config.get(ports);
}

/** Serves the metrics of a daemon; prom-client is loaded here, and nowhere else. */
export async function serveMetrics(
  endpoint: Endpoint,
  services: Pick<Services, 'listen' | 'clock'>,
  figures: Figures,
  status: () => Status,
  version = '',
): Promise<Listener> {
  const { collectDefaultMetrics, Counter, Gauge, Registry } = await import('prom-client');
  const ofProcess = new Registry();
  collectDefaultMetrics({ register: ofProcess });
  const build = { name: 'lcc_build_info', help: 'Version of the LCC that runs here; always 1' };
  new Gauge({ ...build, labelNames: ['version'], registers: [ofProcess] }).set({ version }, 1);
  const print = async (): Promise<{ text: string; type: string }> => {
    const registry: Registry = new Registry();
    const now = status();
    const families = new Map<string, Counter | Gauge>();
    for (const [field, { metrics = [] }] of Object.entries(figures))
      for (const { name, kind, help, label, samples } of metrics)
        for (const [value, number] of Object.entries(samples(now[field]))) {
          const settings = {
            name,
            help,
            labelNames: label === undefined ? [] : [label],
            registers: [registry],
          };
          // One without a sample is not made: prom-client would print a 0.
          const family =
            families.get(name) ?? (kind === 'gauge' ? new Gauge(settings) : new Counter(settings));
          families.set(name, family);
          family.inc(label === undefined ? {} : { [label]: value }, number);
        }
    return { text: (await registry.metrics()) + (await ofProcess.metrics()), type: registry.contentType };
  };
  const http = createServer(answering(print));
  const admit = admission(http, services.clock);
  return services.listen(endpoint, ({ socket }) => admit(socket));
}

function answering(print: () => Promise<{ text: string; type: string }>): RequestListener {
  return (request, response) => {
    const say = (status: number, type: string, text: string) => {
      response.writeHead(status, {
        'content-type': type,
        'content-length': Buffer.byteLength(text),
        connection: 'close',
        ...(status === 405 ? { allow: 'GET, HEAD' } : {}),
      });
      response.end(request.method === 'HEAD' ? undefined : text);
    };
    const plain = (status: number, text: string) => say(status, 'text/plain; charset=utf-8', `${text}\n`);
    if (pathOf(request) !== '/metrics') plain(404, 'metrics are at /metrics');
    else if (request.method !== 'GET' && request.method !== 'HEAD') plain(405, 'metrics are to be read');
    else
      print().then(
        ({ text, type }) => say(200, type, text),
        () => plain(500, 'metrics cannot be collected'),
      );
  };
}

function pathOf(request: IncomingMessage): string {
  return (request.url ?? '').split('?', 1)[0] ?? '';
}

/** Hands connections to the HTTP server, with a limit of their number and of the time of each. */
function admission(http: Server, clock: Clock): (socket: Socket) => void {
  const asked = new WeakSet<Socket>();
  let open = 0;
  http.on('request', (request: IncomingMessage) => void asked.add(request.socket));
  return socket => {
    if (open >= MAX_CONNECTIONS) {
      socket.destroy();
      return;
    }
    open++;
    const cancels = [
      clock.after(HEADERS_TIMEOUT_MS, () => void (asked.has(socket) || socket.destroy())),
      clock.after(REQUEST_TIMEOUT_MS, () => void socket.destroy()),
    ];
    socket.on('close', () => {
      open--;
      for (const cancel of cancels) cancel();
    });
    http.emit('connection', socket);
    let bytes = 0;
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MAX_REQUEST_BYTES) socket.destroy();
    });
  };
}
