/** Metrics of a daemon for Prometheus: `GET /metrics` answers its figures, and those of its process; at lccd
 * those of all daemons, too. Their count is bounded. */
import type { RequestListener } from 'node:http';
import type { Counter, Gauge } from 'prom-client';
import { type MetricsKey, METRICS_PORTS } from '../config/keys.js';
import { valueOf, SETTINGS, type SettingKey, type Settings } from '../config/settings/index.js';
import type { Figures, Status } from '../daemon/figures.js';
import type { Running, Services } from '../daemon/types.js';
import { formatEndpoint, type Endpoint, parseEndpoint } from '../lib/endpoint.js';
import { errnoOf, LccError, messageOf } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import { line, send, type HttpAnswer } from './answer.js';
import { WEB_LIMITS, type WebLimits } from './limits.js';
import { serveWeb, type WebServer } from './server.js';

/** Figures of a daemon for Prometheus, and the setting of their address. */
export interface Metrics {
  listen: MetricsKey;
  figures: Figures;
  /** Further ones, asked for at each request. */
  others?: (services: Services) => Promise<readonly Sampled[]>;
}

/** Figures with the status that has their values. */
export interface Sampled {
  figures: Figures;
  status: Status;
  /** Of each of their samples. */
  labels?: Readonly<Record<string, string>>;
}

/**
 * Serves the metrics of a daemon where its setting says so; undefined where the setting is empty.
 * @param version of the LCC
 * @throws LccError with the setting when the endpoint cannot be had
 */
export async function openMetrics(
  { listen, figures, others }: Metrics,
  version: string,
  services: Services,
  running: Pick<Running, 'status'>,
  instance: string,
): Promise<WebServer | undefined> {
  const { settings, log } = services;
  const text = valueOf(settings, listen);
  if (text === '') return undefined;
  let endpoint: Endpoint | undefined;
  try {
    endpoint = metricsEndpoint(text, instance);
    const server = await serveMetrics(endpoint, services, WEB_LIMITS, version, async () => [
      { figures, status: running.status() },
      ...((await others?.(services)) ?? []),
    ]);
    for (const each of server.endpoints) log.info('metrics: listening', { endpoint: formatEndpoint(each) });
    return server;
  } catch (error) {
    if (!(error instanceof LccError)) throw error;
    const others =
      endpoint !== undefined && errnoOf(error.cause) === 'EADDRINUSE'
        ? alsoNamedBy(endpoint, listen, settings)
        : [];
    const remark = others.length === 0 ? '' : `; named too by ${others.join(', ')}`;
    throw new LccError(error.code, `${listen}: ${error.message}${remark}`, { cause: error });
  }
}

/** @param sampled as it is now */
export async function serveMetrics(
  endpoint: Endpoint,
  services: Pick<Services, 'listen' | 'clock' | 'log'>,
  limits: WebLimits,
  version: string,
  sampled: () => Promise<readonly Sampled[]>,
): Promise<WebServer> {
  const door = metricsDoor(await printing(version, sampled), services.log);
  return serveWeb(services, [endpoint], door, limits);
}

/** Answers `/metrics`, with and without a slash at its end; nothing of a path is decoded or resolved. */
function metricsDoor(print: () => Promise<HttpAnswer>, log: Log): RequestListener {
  return (request, response) => {
    const path = request.url?.replace(/\?.*/s, '').replace(/\/$/, '');
    if (path !== '/metrics') return send(request, response, line(404, 'metrics are at /metrics'));
    const allow = 'GET, HEAD';
    if (!allow.split(', ').includes(request.method ?? ''))
      return send(request, response, line(405, `allowed here: ${allow}`, { allow }));
    void print()
      .catch((error: unknown) => {
        log.error('request failed', { path, error: messageOf(error) });
        return line(500, 'this failed; the log says why');
      })
      .then(answer => send(request, response, answer));
  };
}

/** Amounts with names of counters, to which promtool objects; others say the same by type. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

/** prom-client is loaded here, and nowhere else. */
async function printing(
  version: string,
  sampled: () => Promise<readonly Sampled[]>,
): Promise<() => Promise<HttpAnswer>> {
  const { collectDefaultMetrics, Counter, Gauge, Registry } = await import('prom-client');
  const ofProcess = new Registry();
  collectDefaultMetrics({ register: ofProcess });
  for (const name of MISNAMED) ofProcess.removeSingleMetric(name);
  const build = { name: 'lcc_build_info', help: 'Version of the LCC that runs here; always 1' };
  new Gauge({ ...build, labelNames: ['version'], registers: [ofProcess] }).set({ version }, 1);
  return async () => {
    const registry = new Registry();
    const families = new Map<string, Counter | Gauge>();
    for (const { figures, status, labels = {} } of await sampled())
      for (const [field, { metrics = [] }] of Object.entries(figures))
        for (const { name, kind, help, label, samples } of metrics)
          for (const [value, number] of Object.entries(samples(status[field]))) {
            const all = label === undefined ? labels : { ...labels, [label]: value };
            const settings = { name, help, labelNames: Object.keys(all), registers: [registry] };
            // One without a sample is not made: prom-client would print a 0.
            const family =
              families.get(name) ?? (kind === 'gauge' ? new Gauge(settings) : new Counter(settings));
            families.set(name, family);
            family.inc(all, number);
          }
    const body = (await registry.metrics()) + (await ofProcess.metrics());
    return { type: registry.contentType, body };
  };
}

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
function alsoNamedBy(endpoint: Endpoint, own: SettingKey, settings: Settings): SettingKey[] {
  if (endpoint.kind === 'unix') return [];
  return LISTENS.filter(key => {
    const text = key === own ? '' : valueOf(settings, key);
    if (text === '') return false;
    const other = parseEndpoint(text);
    if (other.kind === 'unix') return false;
    const ahead = endpoint.port - other.port;
    const hosts = [endpoint.host, other.host];
    return (
      ahead >= 0 &&
      ahead < portsOf(key, settings) &&
      (endpoint.host === other.host || hosts.some(host => ANY_HOST.has(host)))
    );
  });
}

/** How many ports in a row a setting stands for. */
function portsOf(key: MetricsKey, settings: Settings): number {
  const ports = METRICS_PORTS[key];
  return ports === undefined ? 1 : valueOf(settings, ports);
}
