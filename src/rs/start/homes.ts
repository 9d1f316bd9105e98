/** The other homes of an LCC that is several, where there is an engine that has their map. */
import { doorOfHome } from '../../config/cluster.js';
import { trustOf } from '../../daemon/machines.js';
import type { Services } from '../../daemon/types.js';
import { Engine } from '../../db/engine/engine.js';
import { ProviderMap } from '../../db/engine/map.js';
import { engineAccount } from '../../db/engine/nodes.js';
import { LccError } from '../../lib/errors.js';
import { HomePeers } from '../homes/peers.js';

/** Undefined: this home is the whole LCC. @throws LccError `config` where another home registers */
export function homesOf(services: Services): HomePeers | undefined {
  const { clock, log } = services;
  const { store, cluster } = services.settings;
  if (store.url === '') return undefined;
  if (cluster.shard !== 0)
    throw new LccError(
      'config',
      `registration is of home 0, this is home ${cluster.shard}: leave out [rs] listen here`,
    );
  const engine = new Engine(engineAccount(store), { clock, log });
  return new HomePeers({
    map: new ProviderMap(engine),
    own: cluster.shard,
    doorOf: (owner, shard, door) => doorOfHome(cluster, { owner, shard }, door),
    trust: () => trustOf(services.settings.net),
    connect: (to, onConnect, role) => services.connect(to, onConnect, role),
    clock,
    log,
    fail: error => services.fail(error),
    closed: () => engine.close(),
  });
}
