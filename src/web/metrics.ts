/** Metrics of a daemon for Prometheus: `GET /metrics` answers its figures, and those of its process. Only
 * numbers that `lccstat` shows as well; nothing by provider, so their count is bounded. */
import type { RequestListener } from 'node:http';
import type { Counter, Gauge } from 'prom-client';
import type { MetricsKey } from '../config/keys.js';
import { valueOf } from '../config/settings/index.js';
import type { Figures, Status } from '../daemon/figures.js';
import type { Running, Services } from '../daemon/types.js';
import { formatEndpoint, type Endpoint } from '../lib/endpoint.js';
import { errnoOf, LccError, messageOf } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import { line, send, type HttpAnswer } from './answer.js';
import type { WebLimits } from './limits.js';
import { alsoNamedBy, metricsEndpoint } from './metrics-endpoint.js';
import { serveWeb, type WebServer } from './server.js';

/** Figures of a daemon for Prometheus, and the setting of their address. */
export interface Metrics {
  listen: MetricsKey;
  figures: Figures;
}

/**
 * Serves the metrics of a daemon where its setting says so; undefined where the setting is empty.
 * @param version of the LCC
 * @throws LccError with the setting when the endpoint cannot be had
 */
export async function openMetrics(
  { listen, figures }: Metrics,
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
    const server = await serveMetrics(endpoint, services, settings.web, figures, version, () =>
      running.status(),
    );
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

/** @param status as it is now */
export async function serveMetrics(
  endpoint: Endpoint,
  services: Pick<Services, 'listen' | 'clock' | 'log'>,
  limits: WebLimits,
  figures: Figures,
  version: string,
  status: () => Status,
): Promise<WebServer> {
  const door = metricsDoor(await printing(figures, version, status), services.log);
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

/** prom-client is loaded here, and nowhere else. */
async function printing(
  figures: Figures,
  version: string,
  status: () => Status,
): Promise<() => Promise<HttpAnswer>> {
  const { collectDefaultMetrics, Counter, Gauge, Registry } = await import('prom-client');
  const ofProcess = new Registry();
  collectDefaultMetrics({ register: ofProcess });
  const build = { name: 'lcc_build_info', help: 'Version of the LCC that runs here; always 1' };
  new Gauge({ ...build, labelNames: ['version'], registers: [ofProcess] }).set({ version }, 1);
  return async () => {
    const registry = new Registry();
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
    const body = (await registry.metrics()) + (await ofProcess.metrics());
    return { type: registry.contentType, body };
  };
}
