/** lccd-cu put together: listeners for content users. */
import { endpointsToListen, listenAll } from '../../daemon/listen-all.js';
import type { Entrance, Running, Services } from '../../daemon/types.js';
import { formatEndpoint, parseEndpoint, type Endpoint } from '../../lib/endpoint.js';
import { openFilesLimit } from '../../lib/open-files.js';
import { CU_PORT, refused } from '../../wire/cu.js';
import type { CuStatus } from './figures.js';
import { peersOf } from '../peers/contents.js';
import { cuOptions } from './options.js';
import { CuServer } from './server.js';

/** Where programs read the change feed when an endpoint names no port. */
export const DEFAULT_HTTP_PORT = 9011;

/** Readers from other machines of the LCC: known by their certificates. */
const MACHINES: Entrance = { machines: true, say: ({ message }) => refused(101, message) };

/** @param machines where other machines of the LCC connect
 * @throws LccError `usage` where no endpoint is given */
export async function startCu(services: Services, machines: readonly Endpoint[] = []): Promise<Running> {
  const { settings, log } = services;
  const overHttp = settings.cu.httpListen.map(text => parseEndpoint(text, DEFAULT_HTTP_PORT));
  const endpoints =
    overHttp.length + machines.length > 0 && settings.cu.listen.length === 0
      ? []
      : endpointsToListen('cu.listen', settings.cu.listen, CU_PORT);
  const options = cuOptions(services, openFilesLimit());
  const others = peersOf(settings, services.clock);
  const server = new CuServer({ ...services, kept: services.kept(), options, machines: others });
  if (options.anonymous && [...endpoints, ...overHttp].some(({ kind }) => kind !== 'unix'))
    log.warn('anonymous reading: every client that can connect may read everything (cu.anonymous)');
  const readers = await listenAll(services, endpoints, each => server.accept(each));
  const peers = await listenAll(services, machines, each => server.accept(each, true), MACHINES);
  const listens = [...readers.listens, ...peers.listens];
  const httpListens = (await server.changes.listen(services, overHttp)).map(each => formatEndpoint(each));
  for (const endpoint of httpListens) log.info('changes: listening', { endpoint });
  return {
    status: (): CuStatus => ({ ...server.status(), listens, http_listens: httpListens }),
    async stop() {
      readers.close();
      peers.close();
      await server.stop();
    },
  };
}
