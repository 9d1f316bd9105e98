/** lccd-cu put together: listeners for content users. */
import type { Running, Services } from '../../daemon/types.js';
import { formatEndpoint, parseEndpoint } from '../../lib/endpoint.js';
import { LccError } from '../../lib/errors.js';
import { openFilesLimit } from '../../lib/open-files.js';
import type { CuStatus } from './figures.js';
import { cuOptions } from './options.js';
import { CuServer } from './server.js';

/** Where content users connect when an endpoint names no port. */
export const DEFAULT_PORT = 9010;

/** @throws LccError `usage` where no endpoint is given */
export async function startCu(services: Services): Promise<Running> {
  const { config, clock, log } = services;
  const texts = config.get('cu.listen');
  if (texts.length === 0)
    throw new LccError('usage', '--listen=ENDPOINT is missing; write host:port, tls:host:port or unix:/path');
  const options = cuOptions(config, openFilesLimit());
  const server = new CuServer({ options, clock, log, fail: error => services.fail(error) });
  const endpoints = texts.map(text => parseEndpoint(text, DEFAULT_PORT));
  if (options.anonymous && endpoints.some(({ kind }) => kind !== 'unix'))
    log.warn('anonymous reading: every client that can connect may read everything (cu.anonymous)');
  const listeners = await Promise.all(
    endpoints.map(endpoint => services.listen(endpoint, connection => server.accept(connection))),
  );
  for (const { endpoint } of listeners) log.info('listening', { endpoint: formatEndpoint(endpoint) });
  return {
    status: (): CuStatus => ({
      ...server.status(),
      listens: listeners.map(({ endpoint }) => formatEndpoint(endpoint)),
    }),
    async stop() {
      for (const listener of listeners) void listener.close();
      await server.stop();
    },
  };
}
