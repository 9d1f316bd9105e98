/** Where the metrics of a daemon are read, and which settings name the same place. */
import { METRICS_PORTS, type MetricsKey } from '../config/keys.js';
import { SETTINGS, valueOf, type SettingKey, type Settings } from '../config/settings/index.js';
import { LccError } from '../lib/errors.js';
import { parseEndpoint, type Endpoint } from '../lib/endpoint.js';

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
export function alsoNamedBy(endpoint: Endpoint, own: SettingKey, settings: Settings): SettingKey[] {
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
