/** Numbers of providers that have left go back to the map of an LCC that is several homes, last of all: when
 * the engine has this home without them. */
import type { Services } from '../daemon/types.js';
import { Engine } from '../db/engine/engine.js';
import { ProviderMap } from '../db/engine/map.js';
import { engineAccount } from '../db/engine/nodes.js';
import { LccError } from '../lib/errors.js';

export async function freeNumber(services: Services, pid: number): Promise<void> {
  const { settings, clock, log, told } = services;
  if (settings.store.url === '') return;
  try {
    await services.kept().shipped('lcc');
    const engine = new Engine(engineAccount(settings.store), { clock, log });
    await new ProviderMap(engine).free([pid], settings.cluster.shard, told).finally(() => engine.close());
  } catch (error) {
    if (!(error instanceof LccError)) return services.fail(error);
    // The number stays with this home, where it can be added again.
    log.warn('number of a provider not given back', { pid, reason: error.message });
  }
}
