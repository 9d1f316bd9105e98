/** The Bot Manager put together, with a store of its own or relaying to others. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Bound, Connection, Running, Services } from '../daemon/types.js';
import type { Endpoint } from '../lib/endpoint.js';
import { LccError } from '../lib/errors.js';
import { errorElement } from '../wire/messages.js';
import type { NearJoin } from '../wire/near-robot.js';
import { serveContent } from './content-door.js';
import { BotManager } from './manager.js';
import { managerLimits, storeLimits } from './options.js';
import { Relay } from './relay.js';
import { Store } from './store.js';

const ROBOTS: Bound = { key: 'bm.max_robots', whose: 'robots', machines: true, say: errorElement };
const BELOW: Bound = { key: 'bm.max_robots', whose: 'Bot Managers', machines: true, say: errorElement };

/** Where it talks upwards and downwards. */
export interface Edge {
  /** One is connected to at a time: the first that is there. */
  sources: readonly Endpoint[];
  listens: readonly Endpoint[];
  /** Where other machines read content. */
  content: readonly Endpoint[];
}

/** Robots of this process: started with how they join, and stopped after what they serve. */
export type OwnRobots = (services: Services, join: NearJoin) => Promise<{ stop(): Promise<void> }>;

/** @param dir of the content */
export async function startManager(
  services: Services,
  edge: Edge,
  dir: string,
  ownRobots?: OwnRobots,
): Promise<Running> {
  const { settings, clock, log } = services;
  const { bm } = settings;
  const store = new Store({
    dir,
    machineId: bm.machineId,
    ...storeLimits(settings),
    clock,
    log,
    fail: error => services.fail(error),
  });
  const manager = new BotManager({
    store,
    clock,
    log,
    ...managerLimits(settings),
    refused: reason => services.fail(new LccError('config', `${dir}: ${reason.message}`)),
  });
  const robots = await ownRobots?.(services, manager.near);
  const robot = ({ socket, peer }: Connection) => manager.robot(socket, `robot ${peer}`);
  const running = await serve(services, edge, manager, robot, ROBOTS);
  const { machineId } = bm;
  const { stallTimeoutMs: stallMs } = settings.wire;
  const content = await serveContent(services, edge.content, { dir, machineId, stallMs });
  return {
    ...running,
    async stop() {
      void content.close();
      await running.stop();
      await robots?.stop();
    },
  };
}

export async function startRelay(services: Services, edge: Edge): Promise<Running> {
  const { home, settings, clock, log } = services;
  const { store } = home;
  // A store would be served if --store or --machineid were given.
  if (existsSync(join(store, 'machine-id')))
    log.warn('running as a relay although a store exists; pass --store or --machineid to serve it', {
      store,
    });
  const relay = new Relay({
    clock,
    log,
    ...managerLimits(settings),
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
  { sources, listens }: Edge,
  stage: BotManager | Relay,
  accept: (connection: Connection) => void,
  places: Bound,
): Promise<Running> {
  const listeners = await Promise.all(listens.map(endpoint => services.listen(endpoint, accept, places)));
  const peer = services.connect(
    sources,
    ({ socket, peer: name }) => stage.source(socket, `source ${name}`),
    'source of urls',
  );
  return {
    status: () => stage.status(),
    async stop() {
      for (const listener of listeners) void listener.close();
      await stage.stop();
      peer.close();
    },
  };
}
