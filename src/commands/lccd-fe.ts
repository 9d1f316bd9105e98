import { doorOfHome } from '../config/cluster.js';
import { FE_FIGURES } from '../fe/figures.js';
import { MapRoutes } from '../fe/routes.js';
import { startFrontEnd } from '../fe/start.js';
import { Engine } from '../db/engine/engine.js';
import { ProviderMap } from '../db/engine/map.js';
import { engineAccount } from '../db/engine/nodes.js';
import { LccError } from '../lib/errors.js';
import { runAsDaemon } from './daemon.js';
import { CONFIG_OPTION } from './options.js';
import type { CommandSpec } from './run.js';

export const command: CommandSpec = {
  name: 'lccd-fe',
  summary:
    'Front end of an LCC that is several homes: passes Content Providers on to the home that has them.',
  options: [
    {
      flags: '--listen <ENDPOINT>',
      sets: 'fe.listen',
      help: 'where CPs connect; may be repeated (default: fe.listen, port 9000)',
      repeat: true,
    },
    CONFIG_OPTION,
  ],
  example: 'lccd-fe --listen=tls:0.0.0.0:9000',
  run: context =>
    runAsDaemon(context, {
      metrics: { listen: 'fe.metrics_listen', figures: FE_FIGURES },
      start(services) {
        const { store, cluster } = services.settings;
        if (store.url === '')
          throw new LccError(
            'config',
            'store.url is not set: homes are found in the engine that all of them have; an LCC without one needs no front end',
          );
        const { clock, log } = services;
        const engine = new Engine(engineAccount(store), { clock, log });
        const routes = new MapRoutes({
          map: new ProviderMap(engine),
          doorOf: (owner, shard) => doorOfHome(cluster, { owner, shard }, 'front ends'),
          clock,
          log,
        });
        const close = () => {
          routes.close();
          engine.close();
        };
        return startFrontEnd(services, { routes, map: () => routes.figures, close });
      },
    }),
};
