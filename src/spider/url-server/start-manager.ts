/** lccurld with a Bot Manager above it, put together: what that asks for goes to spiders, what a store server has goes back. */
import { join } from 'node:path';
import type { Running, Services } from '../../daemon/types.js';
import { DocMap } from '../../db/spider/doc-map.js';
import type { Endpoint } from '../../lib/endpoint.js';
import { channelLimitsOf } from '../../wire/messages.js';
import { collect } from './stored-result.js';
import type { UrldStatus } from './figures.js';
import { ManagerSource } from './manager-source.js';
import { listening, urlServerOf } from './start.js';
import { StoredDocuments } from './stored-documents.js';

export interface ManagerEdge {
  /** Where spiders connect. */
  listens: readonly Endpoint[];
  /** Of the Bot Manager. */
  manager: Endpoint;
  /** The folder of the store server that spiders send their records to. */
  stored: string;
}

export async function startForManager(
  services: Services,
  { listens, manager, stored }: ManagerEdge,
): Promise<Running & { status(): UrldStatus }> {
  const { config, clock, log } = services;
  const documents = new StoredDocuments(stored);
  const numbers = new DocMap(join(config.home.dir, 'spider', 'urls.db'));
  const options = {
    find: (docId: number) => documents.find(docId),
    syncContent: config.get('bot.sync_content'),
  };
  const source = new ManagerSource({
    channel: channelLimitsOf(config),
    clock,
    log,
    maxWaiting: config.get('bot.max_waiting'),
    idsOf: urls => numbers.idsOf(urls),
    collect: (docId, request) => collect(docId, request, options),
    slots: () => server.slots,
    fail: error => services.fail(error),
  });
  const server = urlServerOf(services, source, {
    judge: url => (source.isGivenUp(url) ? 'given up' : 'go'),
    roomChanged: () => source.offer(),
  });
  const running = await listening(services, listens, server);
  const peer = services.connect(manager, ({ socket, peer: name }) => source.serve(socket, `manager ${name}`));
  return {
    ...running,
    async stop() {
      await running.stop();
      peer.close();
      documents.close();
      numbers.close();
    },
  };
}
