/** The spider put together: its engine, the URL server and the store servers that it connects to. */
import type { Running, Services } from '../../daemon/types.js';
import { FetchEngine } from '../../fetch/engine.js';
import { formatEndpoint, type Endpoint } from '../../lib/endpoint.js';
import { openFilesLimit } from '../../lib/open-files.js';
import { spiderEngineOptions, spiderLimits, STORE_LIMITS } from './options.js';
import { Spider } from './spider.js';
import { StoreServer } from './store-server-link.js';
import { StoreServers } from './store-server-link.js';

interface SpiderEdge {
  urlServer: Endpoint;
  /** One at least; their order says which document goes where. */
  stores: readonly Endpoint[];
  /** Networks (CIDR) that may be fetched from, beside those configured. */
  allowed: readonly string[];
}

export function startSpider(
  services: Services,
  { urlServer, stores, allowed }: SpiderEdge,
): Promise<Running> {
  const { clock, log } = services;
  const { spider: set } = services.settings;
  const servers = stores.map(
    endpoint => new StoreServer({ ...STORE_LIMITS, name: formatEndpoint(endpoint), clock, log }),
  );
  const limits = spiderEngineOptions(set);
  const bounds = spiderLimits(services, openFilesLimit());
  if (bounds.slots < set.slots)
    log.warn('fewer slots than configured; raise ulimit -n', { slots: bounds.slots, configured: set.slots });
  const allowAddresses = [...limits.allowAddresses, ...allowed];
  const engine = new FetchEngine({ ...limits, allowAddresses, clock });
  const spider = new Spider({
    ...bounds,
    engine,
    stores: new StoreServers(servers),
    clock,
    log,
  });
  const peers = [
    ...stores.map((endpoint, at) =>
      services.connect(endpoint, made => servers[at]?.connected(made), 'store server'),
    ),
    services.connect(urlServer, made => spider.serve(made), 'URL server'),
  ];
  return Promise.resolve({
    status: () => spider.status(),
    // And a moment for records and connections.
    stopTimeoutMs: set.graceMs + 5000,
    async stop() {
      await spider.stop();
      for (const peer of peers) peer.close();
    },
  });
}
