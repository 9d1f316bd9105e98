/** lccd-cu put together: listeners for content users. */
import { endpointsToListen, listenAll } from '../../daemon/listen-all.js';
import type { Running, Services } from '../../daemon/types.js';
import { formatEndpoint, parseEndpoint } from '../../lib/endpoint.js';
import { openFilesLimit } from '../../lib/open-files.js';
import { CU_PORT } from '../../wire/cu.js';
import type { CuStatus } from './figures.js';
import { cuOptions } from './options.js';
import { CuServer } from './server.js';

/** Where programs read the change feed when an endpoint names no port. */
export const DEFAULT_HTTP_PORT = 9011;

/** @throws LccError `usage` where no endpoint is given */
export async function startCu(services: Services): Promise<Running> {
  const { settings, log } = services;
  const overHttp = settings.cu.httpListen.map(text => parseEndpoint(text, DEFAULT_HTTP_PORT));
  const endpoints =
    overHttp.length > 0 && settings.cu.listen.length === 0
      ? []
      : endpointsToListen('cu.listen', settings.cu.listen, CU_PORT);
  const options = cuOptions(services, openFilesLimit());
  const server = new CuServer({ ...services, options });
  if (options.anonymous && [...endpoints, ...overHttp].some(({ kind }) => kind !== 'unix'))
    log.warn('anonymous reading: every client that can connect may read everything (cu.anonymous)');
  const { listens, close } = await listenAll(services, endpoints, each => server.accept(each));
  const httpListens = (await server.changes.listen(services, overHttp)).map(each => formatEndpoint(each));
  for (const endpoint of httpListens) log.info('changes: listening', { endpoint });
  return {
    status: (): CuStatus => ({ ...server.status(), listens, http_listens: httpListens }),
    async stop() {
      close();
      await server.stop();
    },
  };
}
