/** Numbers of providers that have left go back to the map of an LCC that is several homes, last of all: when
 * the engine has this home without them. */
import type { Services } from '../daemon/types.js';
import { Engine } from '../db/engine/engine.js';
import { ProviderMap } from '../db/engine/map.js';
import { engineAccount } from '../db/engine/nodes.js';
import { LccError } from '../lib/errors.js';

export class FreedNumbers {
  readonly #services: Services;

  constructor(services: Services) {
    this.#services = services;
  }

  free(pid: number): void {
    const services = this.#services;
    if (services.settings.store.url === '') return;
    this.#free(pid).catch(error => {
      if (!(error instanceof LccError)) return services.fail(error);
      // The number stays with this home, where it can be added again.
      services.log.warn('number of a provider not given back', { pid, reason: error.message });
    });
  }

  async #free(pid: number): Promise<void> {
    const services = this.#services;
    const { settings, clock, log, told } = services;
    await services.kept().shipped('lcc');
    const engine = new Engine(engineAccount(settings.store), { clock, log });
    await new ProviderMap(engine).free([pid], settings.cluster.shard, told).finally(() => engine.close());
  }
}
