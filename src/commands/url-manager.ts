/** lccurld as a Bot Manager: one that has the URL server for its robot. Two stages, which a command alone may join. */
import { join } from 'node:path';
import { startManager } from '../bm/start.js';
import type { Running, Services } from '../daemon/types.js';
import type { Endpoint } from '../lib/endpoint.js';
import { startForManager } from '../spider/url-server/start-manager.js';

export interface UrlManagerEdge {
  listens: readonly Endpoint[];
  /** Of the Queue Manager. */
  qm: Endpoint;
  /** The folder of the store server. */
  stored: string;
}

export async function startUrlManager(
  services: Services,
  { listens, qm, stored }: UrlManagerEdge,
): Promise<Running> {
  const { home } = services.config;
  const inside: Endpoint = { kind: 'unix', path: join(home.run, 'lccurld-bm.sock') };
  const manager = await startManager(services, { source: qm, listens: [inside] }, home.store);
  const urls = await startForManager(services, { listens, manager: inside, stored });
  return {
    ...urls,
    status: () => ({ ...urls.status(), idle: urls.status().idle && manager.status().idle }),
    async stop() {
      await urls.stop();
      await manager.stop();
    },
  };
}
