/** The other homes of an LCC that is several, where there is an engine that has their map. */
import { doorOf, machineNamed } from '../../config/cluster.js';
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
  const [owners, providers] = [new ProviderMap(engine), new ProviderMap(engine)];
  return new HomePeers({
    // Owners are looked up while the map is busy.
    map: {
      homes: stop => owners.homes(stop),
      find: (pids, stop) => providers.find(pids, stop),
      list: stop => providers.list(stop),
      take: (pids, shard, stop) => providers.take(pids, shard, stop),
      free: (pids, shard, stop) => providers.free(pids, shard, stop),
    },
    own: cluster.shard,
    doorOf: (owner, shard) => doorOf(machineNamed(owner, { port: cluster.port, shard }), 'registration'),
    connect: (to, onConnect, role) => services.connect(to, onConnect, role),
    clock,
    log,
    fail: error => services.fail(error),
    closed: () => engine.close(),
  });
}
