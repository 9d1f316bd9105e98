/** Where clients from outside connect to a daemon. */
import type { SettingKey } from '../config/settings/index.js';
import { formatEndpoint, parseEndpoint, type Endpoint } from '../lib/endpoint.js';
import { LccError } from '../lib/errors.js';
import type { Bound, Connection, Entrance, Services } from './types.js';

/** Listens on all of them; the log names each as it is bound, and so does the status. */
export async function listenAll(
  { listen, log }: Pick<Services, 'listen' | 'log'>,
  endpoints: readonly Endpoint[],
  accept: (connection: Connection) => void,
  entrance?: Entrance | Bound,
) {
  const listeners = await Promise.all(endpoints.map(endpoint => listen(endpoint, accept, entrance)));
  const listens = listeners.map(({ endpoint }) => formatEndpoint(endpoint));
  for (const endpoint of listens) log.info('listening', { endpoint });
  return { listens, close: () => listeners.forEach(listener => void listener.close()) };
}

/** The endpoints of a setting that has no default. @throws LccError `usage` where none is given; as
 * `parseEndpoint` */
export function endpointsToListen(
  key: SettingKey,
  texts: readonly string[],
  defaultPort: number,
): Endpoint[] {
  if (texts.length === 0)
    throw new LccError(
      'usage',
      `--listen=ENDPOINT is missing, and so is the setting ${key}; write host:port, tls:host:port or unix:/path`,
    );
  return texts.map(text => parseEndpoint(text, defaultPort));
}
