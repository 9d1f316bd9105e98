import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { BotManager } from '../bm/manager.js';
import { BM_METRICS, RELAY_METRICS } from '../bm/metrics.js';
import { managerLimits, relayLimits, storeLimits } from '../bm/options.js';
import { Relay } from '../bm/relay.js';
import { Store } from '../bm/store.js';
import type { Bound, Connection, Running, Services } from '../daemon/types.js';
import type { Endpoint } from '../lib/endpoint.js';
import { LccError } from '../lib/errors.js';
import { errorElement } from '../wire/messages.js';
import { CONFIG_OPTION, endpointsOf, runAsDaemon } from './daemon.js';
import type { CommandSpec } from './run.js';

export const command: CommandSpec = {
  name: 'lccd-bm',
  summary: 'Bot Manager: gives fetch requests to robots and names the files they write, or relays to others.',
  options: [
    { flags: '--source <ENDPOINT>', help: 'where requests come from: an lccd-qm, or a relay above' },
    {
      flags: '--listen <ENDPOINT>',
      help: 'where robots connect, or with a relay Bot Managers; may be repeated',
      repeat: true,
    },
    { flags: '--store <DIR>', help: 'folder for the content (with --machineid: $LCC_HOME/store)' },
    { flags: '--machineid <ID>', help: 'name of this machine in the LCC (with --store: bm.machine_id)' },
    CONFIG_OPTION,
  ],
  example:
    'lccd-bm --source=unix:$LCC_HOME/run/qm-bm.sock --listen=unix:$LCC_HOME/run/bm.sock --machineid=m1',
  run(context) {
    const [source] = endpointsOf(context, 'source');
    const listens = endpointsOf(context, 'listen');
    const { store, machineid } = context.options;
    const edge: Edge = { source, listens };
    if (store === undefined && machineid === undefined)
      return runAsDaemon(context, {
        name: 'lccd-bm',
        instance: 'relay',
        metrics: { listen: 'bm.metrics_listen', rows: RELAY_METRICS },
        start: services => startRelay(services, edge),
      });
    return runAsDaemon(
      context,
      {
        name: 'lccd-bm',
        metrics: { listen: 'bm.metrics_listen', rows: BM_METRICS },
        start: services =>
          startManager(
            services,
            edge,
            typeof store === 'string' ? resolve(store) : services.config.home.store,
          ),
      },
      { 'bm.machine_id': typeof machineid === 'string' ? machineid : undefined },
    );
  },
};

const ROBOTS: Bound = { key: 'bm.max_robots', whose: 'robots', say: errorElement };
const BELOW: Bound = { key: 'bm.max_robots', whose: 'Bot Managers', say: errorElement };

/** Where it talks upwards and downwards. */
interface Edge {
  source: Endpoint | undefined;
  listens: readonly Endpoint[];
}

async function startManager(services: Services, edge: Edge, dir: string): Promise<Running> {
  const { config, clock, log } = services;
  const machineId = config.get('bm.machine_id');
  const store = new Store({
    dir,
    machineId,
    ...storeLimits(config),
    clock,
    log,
    fail: error => services.fail(error),
  });
  const manager = new BotManager({
    store,
    clock,
    log,
    ...managerLimits(config),
    refused: reason => services.fail(new LccError('config', `${dir}: ${reason.message}`)),
  });
  return serve(services, edge, manager, ({ socket, peer }) => manager.robot(socket, `robot ${peer}`), ROBOTS);
}

async function startRelay(services: Services, edge: Edge): Promise<Running> {
  const { config, clock, log } = services;
  const { store } = config.home;
  // It would be served if --store or --machineid were given.
  if (existsSync(join(store, 'machine-id')))
    log.warn('relays without a store, although there is one here; --store or --machineid serve it', {
      store,
    });
  const relay = new Relay({
    clock,
    log,
    ...relayLimits(config),
    refused: reason => services.fail(reason),
  });
  return serve(
    services,
    edge,
    relay,
    ({ socket, peer }) => relay.branch(socket, `bot manager ${peer}`),
    BELOW,
  );
}

/** Listens to those below, connects to the source, and ends in the right order. */
async function serve(
  services: Services,
  { source, listens }: Edge,
  stage: BotManager | Relay,
  accept: (connection: Connection) => void,
  places: Bound,
): Promise<Running> {
  const listeners = await Promise.all(listens.map(endpoint => services.listen(endpoint, accept, places)));
  const peer =
    source && services.connect(source, ({ socket, peer: name }) => stage.source(socket, `source ${name}`));
  return {
    status: () => stage.status(),
    async stop() {
      for (const listener of listeners) void listener.close();
      await stage.stop();
      peer?.close();
    },
  };
}
