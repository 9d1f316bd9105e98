/** lccd-cu put together: listeners for content users. */
import { endpointsToListen, listenAll } from '../../daemon/listen-all.js';
import type { Running, Services } from '../../daemon/types.js';
import { openFilesLimit } from '../../lib/open-files.js';
import type { CuStatus } from './figures.js';
import { cuOptions } from './options.js';
import { CuServer } from './server.js';

/** Where content users connect when an endpoint names no port. */
export const DEFAULT_PORT = 9010;

/** @throws LccError `usage` where no endpoint is given */
export async function startCu(services: Services): Promise<Running> {
  const { settings, clock, log } = services;
  const endpoints = endpointsToListen('cu.listen', settings.cu.listen, DEFAULT_PORT);
  const options = cuOptions(services, openFilesLimit());
  const server = new CuServer({ options, clock, log, fail: error => services.fail(error) });
  if (options.anonymous && endpoints.some(({ kind }) => kind !== 'unix'))
    log.warn('anonymous reading: every client that can connect may read everything (cu.anonymous)');
  const { listens, close } = await listenAll(services, endpoints, each => server.accept(each));
  return {
    status: (): CuStatus => ({ ...server.status(), listens }),
    async stop() {
      close();
      await server.stop();
    },
  };
}
